// Which database errors pass by themselves. They are waited out; all others are answers.

const SQLSTATES = new Set(['40001', '40P01', '53300', '57P01', '57P02', '57P03', '55P03']);
const NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);

export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && (SQLSTATES.has(code) || code.startsWith('08') || NETWORK.has(code))) return true;
  // `pg` has no code for these.
  return /Connection terminated|connection timeout|timeout exceeded when trying to connect|Client was closed|not queryable/i.test(
    error.message,
  );
}

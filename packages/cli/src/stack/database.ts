// Which PostgreSQL serves this process: the one the environment names, else none (and the caller embeds one).

export async function databaseFromEnv(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const { databaseUrl, hasExternalDatabase } = await import('@noetl/server');
  return hasExternalDatabase(env) ? databaseUrl(env) : undefined;
}

/** For the screen: the password is nobody's business. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'postgresql://…';
  const shown = new URL(url);
  if (shown.password !== '') shown.password = '***';
  return shown.href;
}

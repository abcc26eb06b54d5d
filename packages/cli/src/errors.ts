// How a command ends badly: every failure a person can meet carries its exit code and, where we know it, what to do next.
// Scripts depend on these numbers; they are documented in `noetl --help` and never change meaning.

export const EXIT = {
  ok: 0,
  error: 1,
  /** Wrong arguments, bad YAML, a playbook that does not validate. */
  usage: 2,
  failed: 3,
  cancelled: 4,
  timeout: 5,
  unreachable: 6,
  unauthorised: 7,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure with a message fit for a person. Anything else that is thrown is a bug and is shown with its stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(message: string, options: { exitCode?: ExitCode; hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.exitCode ?? EXIT.error;
    this.hint = options.hint;
  }
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError(message, { exitCode: EXIT.usage, ...(hint === undefined ? {} : { hint }) });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a Node or Postgres error, else undefined. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

// JSON lines on stderr. Whatever is logged passes the same mask as what the API returns.
import { type Json, redact } from '@noetl/core';
import { type Logger, pino } from 'pino';

export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: 'noetl-server' },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorOf },
      formatters: { level: (label) => ({ level: label }), log: (object) => redactLog(object) },
    },
    pino.destination({ dest: 2, sync: false }),
  );
}

/** What helps to find the cause. Drivers hang whole connections on their errors, passwords included. */
function errorOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  return { type: name, message, stack, ...(code === undefined ? {} : { code }) };
}

function redactLog(object: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = object;
  const masked = redact(rest as Json) as Record<string, unknown>;
  return err === undefined ? masked : { ...masked, err };
}

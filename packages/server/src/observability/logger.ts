// JSON lines on stderr. Whatever is logged passes the same mask as what the API returns.
import { type Json, redact } from '@noetl/core';
import { type Logger, pino } from 'pino';

export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: 'noetl-server' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (object) => redactLog(object) },
    },
    pino.destination({ dest: 2, sync: false }),
  );
}

function redactLog(object: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = object;
  const masked = redact(rest as Json) as Record<string, unknown>;
  return err === undefined ? masked : { ...masked, err };
}

// JSON lines on stderr. Whatever is logged passes the same mask as what the API returns.
import { describeError, redactLog } from '@noetl/core';
import { type Logger, pino } from 'pino';

export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: 'noetl-server' },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
      formatters: { level: (label) => ({ level: label }), log: redactLog },
    },
    pino.destination({ dest: 2, sync: false }),
  );
}

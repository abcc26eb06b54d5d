// The part of a pino logger that the worker uses, so tests and embedders can hand in anything that fits.
export interface WorkerLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLog: WorkerLog = { debug() {}, info() {}, warn() {}, error() {} };

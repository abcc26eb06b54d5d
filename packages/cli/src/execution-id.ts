import { usageError } from './errors.js';

export function checkId(id: string): string {
  if (/^\d{1,20}$/.test(id)) return id;
  throw usageError(`"${id}" is not an execution id.`, 'It is a number; `noetl list` shows them.');
}

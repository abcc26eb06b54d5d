// Moments in requests.
import { type Moment, parseMoment, parseZonedTime } from '@noetl/core';
import { ApiProblem } from '../errors.js';

const LIKE = '2026-11-16T04:00:00Z (write + as %2B in an address)';

/** All digits stay: the database compares microseconds. */
export function timeOf(text: string, name: string): string {
  const time = parseZonedTime(text);
  if (time !== undefined) return time;
  throw new ApiProblem('malformed', `query '${name}' must be a time with its zone, like ${LIKE}`);
}

export function momentOf(text: string | undefined, name: string): Moment {
  const moment = text === undefined ? { type: 'end' as const } : parseMoment(text);
  if (moment !== undefined) return moment;
  throw new ApiProblem(
    'malformed',
    `query '${name}' must be an event id, a version like %2312 (#12), or a time with its zone, like ${LIKE}`,
  );
}

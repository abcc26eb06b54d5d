// A moment in the life of an execution, as people write it: an event id, `#12` for the twelfth event, or a time.
import { type Id, parseId } from '../ids/index.js';

export type Moment =
  | { readonly type: 'end' }
  | { readonly type: 'event'; readonly eventId: Id }
  | { readonly type: 'version'; readonly version: number }
  | { readonly type: 'time'; readonly time: string };

const TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:[Zz]|([+-]\d\d):?(\d\d))$/;

/** Undefined: it is none of these. A time without a zone would be another moment on another machine, and is none. */
export function parseMoment(text: string): Moment | undefined {
  if (text === 'end') return { type: 'end' };
  const version = /^#(\d{1,15})$/.exec(text)?.[1];
  if (version !== undefined) return { type: 'version', version: Number(version) };
  const eventId = parseId(text);
  if (eventId !== undefined) return { type: 'event', eventId };
  const time = parseZonedTime(text);
  return time === undefined ? undefined : { type: 'time', time };
}

/** The same time in one spelling, with all its digits; undefined when it is no time or has no zone. */
export function parseZonedTime(text: string): string | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, day, clock, hours, minutes] = match;
  const iso = `${day}T${clock}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`;
  return Number.isNaN(Date.parse(iso)) ? undefined : iso;
}

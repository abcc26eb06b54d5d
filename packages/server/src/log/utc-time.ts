// One spelling for one moment: the one in which the database gives it back. A state that was folded from the events as they came must be equal
// to one that was folded from the events as they were stored, to the letter: snapshots of both are compared.

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*(z|[+-]\d\d(?::?\d\d)?)?$/i;

/** What `Date` writes, and our own workers send. */
const MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** UTC with three to six decimals, without a zone it is UTC already; undefined when it is no time. */
export function utcTime(text: string): string | undefined {
  if (MILLISECONDS.test(text) && !Number.isNaN(Date.parse(text))) return text;
  const [, date, clock, fraction = '0', zone = 'Z'] = TIME.exec(text.trim()) ?? [];
  if (date === undefined) return undefined;
  // `2026-02-31` is a day in March for JavaScript, and an error for everybody else.
  const day = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(date)) return undefined;
  const seconds = Date.parse(`${date}T${clock}${withMinutes(zone)}`);
  if (Number.isNaN(seconds)) return undefined;
  const whole = new Date(seconds).toISOString().slice(0, -'.000Z'.length);
  const micros = fraction.slice(0, 6).padEnd(6, '0');
  return `${whole}.${micros.replace(/0{1,3}$/, '')}Z`;
}

function withMinutes(zone: string): string {
  return /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.toUpperCase();
}

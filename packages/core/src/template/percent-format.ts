// `"%05.2f" | format(x)` and `"%s" % x`: the part of Python's percent formatting that makes sense for JSON.
import { TemplateError } from './error.js';
import { print } from './json-text.js';
import { isNumeric, kindOf } from './kinds.js';
import { allowText, type Budget } from './limits.js';
import { truncate } from './numbers.js';

const DIRECTIVE = /%([-+0 ]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g;

export function formatPercent(pattern: string, values: readonly unknown[], budget: Budget): string {
  let used = 0;
  let size = 0;
  const result = pattern.replace(DIRECTIVE, (_, flags: string, width?: string, precision?: string, kind?: string) => {
    if (kind === '%') return '%';
    if (used >= values.length) throw new TemplateError('the format names more values than it is given');
    const text = formatOne(kind ?? '', values[used++], precision === undefined ? undefined : Number(precision), budget);
    const padded = pad(text, flags, Number(width ?? 0), kind !== 's', budget);
    size += padded.length;
    allowText(budget, size);
    return padded;
  });
  if (used < values.length) throw new TemplateError('the format is given more values than it names');
  return result;
}

function formatOne(kind: string, value: unknown, precision: number | undefined, budget: Budget): string {
  if (kind === 's') {
    const text = print(value, budget);
    return precision === undefined ? text : [...text].slice(0, precision).join('');
  }
  const number = typeof value === 'boolean' ? Number(value) : value;
  if (!isNumeric(number)) throw new TemplateError(`the format '%${kind}' needs a number, not ${kindOf(value)}`);
  switch (kind) {
    case 'd':
    case 'i':
      return String(truncate(number));
    case 'f':
      return Number(number).toFixed(Math.min(precision ?? 6, 100));
    case 'e':
      // Python writes the exponent with two digits at least.
      return Number(number)
        .toExponential(Math.min(precision ?? 6, 100))
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'x':
      return truncate(number).toString(16);
    case 'X':
      return truncate(number).toString(16).toUpperCase();
    case 'o':
      return truncate(number).toString(8);
    default:
      throw new TemplateError(`unknown format '%${kind}'`);
  }
}

function pad(text: string, flags: string, width: number, numeric: boolean, budget: Budget): string {
  allowText(budget, width);
  const negative = numeric && text.startsWith('-');
  const sign = negative ? '-' : numeric && flags.includes('+') ? '+' : numeric && flags.includes(' ') ? ' ' : '';
  const digits = negative ? text.slice(1) : text;
  if (flags.includes('-')) return (sign + digits).padEnd(width);
  if (numeric && flags.includes('0')) return sign + digits.padStart(width - sign.length, '0');
  return (sign + digits).padStart(width);
}

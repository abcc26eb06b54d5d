// Reads JSON without rounding integers: `JSON.parse` where it is exact, our own strict parser (RFC 8259) where it is not.
// What must stay true: both accept the same texts and give equal values, except that an integer outside ±(2^53-1) is a
// `bigint`; nesting deeper than MAX_DEPTH is an error here, so that no later recursion over the value can overflow.
import { lossless, MAX_DEPTH } from './parse-lossless.js';
import type { Json } from './types.js';

const LONG_DIGITS = /[0-9]{16}/;

/** A text that nests deeper than the limit cannot be shorter than this. */
const SHORTEST_TOO_DEEP = 2 * (MAX_DEPTH + 1);

export function parseJson(text: string): Json {
  if ((text.length >= SHORTEST_TOO_DEEP || LONG_DIGITS.test(text)) && needsLossless(text)) return lossless(text);
  try {
    return JSON.parse(text) as Json;
  } catch {
    // The native message depends on the engine and has no line: our parser fails on the same text and says where.
    return lossless(text);
  }
}

/**
 * True when the text holds an integer literal of 16 digits or more, or nests too deeply. Looks only outside of strings,
 * because ids travel as strings most of the time. Broken texts may give either answer.
 */
function needsLossless(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22 /* " */) {
      i = closingQuote(text, i);
    } else if (code === 0x7b /* { */ || code === 0x5b /* [ */) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (code === 0x7d /* } */ || code === 0x5d /* ] */) {
      depth -= 1;
    } else if (code >= 0x30 && code <= 0x39) {
      const start = i;
      while (isDigit(text.charCodeAt(i + 1))) i += 1;
      // Digits after a point are a fraction: the long tails of ordinary floats must not cost us the fast path.
      if (i - start >= 15 && text.charCodeAt(start - 1) !== 0x2e /* . */) return true;
    }
  }
  return false;
}

function closingQuote(text: string, opening: number): number {
  for (let from = opening + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

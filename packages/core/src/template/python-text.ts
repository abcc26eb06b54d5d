// Python's operations on text that JavaScript does differently; shared by text filters and text methods.
import { allowText, type Budget, LIMITS, spend, spendText } from './limits.js';

export function capitalize(text: string): string {
  const [first = '', ...rest] = text;
  return first.toUpperCase() + rest.join('').toLowerCase();
}

/** Capitalises the way Jinja does: after whitespace, hyphens and opening brackets, but not after an apostrophe. */
export function titleCase(text: string): string {
  return text.replace(/[^-\s({[<]+/gu, capitalize);
}

/** Python's method, which begins a word after anything that is no letter: `"it's".title()` is `It'S`. */
export function pythonTitle(text: string): string {
  return text.replace(/\p{Cased}+/gu, capitalize);
}

export function pythonStrip(text: string, characters: string | undefined, side: 'left' | 'right' | 'both'): string {
  if (characters === undefined) {
    return side === 'left' ? text.trimStart() : side === 'right' ? text.trimEnd() : text.trim();
  }
  const points = [...text];
  const strip = new Set(characters);
  let from = 0;
  let to = points.length;
  if (side !== 'right') while (from < to && strip.has(points[from] ?? '')) from += 1;
  if (side !== 'left') while (to > from && strip.has(points[to - 1] ?? '')) to -= 1;
  return points.slice(from, to).join('');
}

/** At a separator, or at runs of whitespace when none is given; at most `limit` splits unless it is negative. */
export function pythonSplit(text: string, separator: string | undefined, limit: number, budget: Budget): string[] {
  spendText(budget, text.length);
  if (separator === undefined) return splitWords(text, limit, budget);
  if (separator === '') {
    spend(budget, text.length);
    return [...text];
  }
  countOccurrences(text, separator, budget);
  const parts = text.split(separator);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

export function pythonSplitRight(text: string, separator: string | undefined, limit: number, budget: Budget): string[] {
  const parts = pythonSplit(text, separator, -1, budget);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  const tail = parts.slice(parts.length - limit);
  if (separator !== undefined) return [parts.slice(0, parts.length - limit).join(separator), ...tail];
  // What stays together keeps its own white space, except at its ends.
  const rest = tail.reduceRight((head, word) => head.slice(0, head.length - word.length).trimEnd(), text.trimEnd());
  return [rest.trimStart(), ...tail];
}

function splitWords(text: string, limit: number, budget: Budget): string[] {
  const words: string[] = [];
  let rest = text.trimStart();
  while (rest !== '' && (limit < 0 || words.length < limit)) {
    const space = rest.search(/\s/);
    if (space === -1) break;
    spend(budget, 1);
    words.push(rest.slice(0, space));
    rest = rest.slice(space).trimStart();
  }
  return rest === '' ? words : [...words, limit < 0 ? rest : rest.trimEnd()];
}

export function replaceText(text: string, old: string, fresh: string, count: number, budget: Budget): string {
  const most = count < 0 ? Number.POSITIVE_INFINITY : count;
  if (old === '') return interleave(text, fresh, most, budget);
  const found = countOccurrences(text, old, budget);
  const replaced = Math.min(found, most);
  allowText(budget, text.length + replaced * (fresh.length - old.length));
  // A function, because a replacement string would give a meaning to `$&` and its kind.
  if (replaced === found) return text.replaceAll(old, () => fresh);
  let done = 0;
  return text.replaceAll(old, () => (done++ < replaced ? fresh : old));
}

/** Charged one by one, because each of them becomes a piece of text of its own. */
export function countOccurrences(text: string, word: string, budget: Budget): number {
  let count = 0;
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + word.length)) {
    spend(budget, 1);
    count += 1;
  }
  return count;
}

/** Characters as people count them: a pair of surrogates is one. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let i = 1; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) count -= 1;
  }
  return count;
}

/** Python inserts the replacement of '' around every character. */
function interleave(text: string, fresh: string, most: number, budget: Budget): string {
  spend(budget, text.length);
  const points = [...text];
  const insertions = Math.min(points.length + 1, most);
  allowText(budget, text.length + insertions * fresh.length, LIMITS.output);
  let result = '';
  for (let i = 0; i <= points.length; i++) result += (i < insertions ? fresh : '') + (points[i] ?? '');
  return result;
}

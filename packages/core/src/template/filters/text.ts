// Filters on text: case, trimming, splitting, replacing, wrapping into other encodings.
import { TemplateError } from '../error.js';
import { isMap, isNothing } from '../kinds.js';
import { allowText, LIMITS, spend } from '../limits.js';
import { formatPercent } from '../percent-format.js';
import { capitalize, countCharacters, pythonSplit, pythonStrip, replaceText, titleCase } from '../python-text.js';
import { iterate, truthy } from '../values.js';
import { attributeReader } from './attribute.js';
import { decodeBase64, encodeBase64 } from './base64.js';
import { type FilterTable, filter, integerArgument, itemsOf, textArgument, textOf } from './filter.js';

const respells = { respells: true } as const;

export const textFilters: FilterTable = {
  upper: filter('', (value, _, run) => textOf(value, run).toUpperCase(), respells),
  lower: filter('', (value, _, run) => textOf(value, run).toLowerCase(), respells),
  capitalize: filter('', (value, _, run) => capitalize(textOf(value, run)), respells),
  title: filter('', (value, _, run) => titleCase(textOf(value, run)), respells),
  string: filter('', (value, _, run) => textOf(value, run), respells),
  trim: filter(
    'chars?',
    (value, [chars], run) => pythonStrip(textOf(value, run), isNothing(chars) ? undefined : textOf(chars, run), 'both'),
    respells,
  ),
  replace: filter('old new count?', (value, [old, fresh, count], run) =>
    replaceText(
      textOf(value, run),
      textOf(old, run),
      textOf(fresh, run),
      integerArgument('count', count, Number.POSITIVE_INFINITY),
      run,
    ),
  ),
  split: filter('sep? maxsplit?', (value, [separator, limit], run) => {
    // The reference splits at single spaces unless told otherwise, unlike Python's method of that name.
    const text = textOf(value, run);
    return text === ''
      ? []
      : pythonSplit(text, textArgument(separator, ' ', run), integerArgument('maxsplit', limit, -1), run);
  }),
  lines: filter('', (value, _, run) => textOf(value, run).split(/\r\n|\r|\n/)),
  wordcount: filter('', (value, _, run) => textOf(value, run).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0),
  truncate: filter('length? killwords? end? leeway?', (value, [length, killWords, end, leeway], run) => {
    const characters = [...textOf(value, run)];
    const limit = integerArgument('length', length, 255);
    const ending = textArgument(end, '...', run);
    if (characters.length <= limit + integerArgument('leeway', leeway, 5)) return characters.join('');
    const kept = characters.slice(0, Math.max(0, limit - [...ending].length)).join('');
    if (truthy(killWords, run)) return kept + ending;
    const space = kept.lastIndexOf(' ');
    return (space === -1 ? kept : kept.slice(0, space)) + ending;
  }),
  indent: filter('width? first? blank?', (value, [width, first, blank], run) => {
    const prefix =
      typeof width === 'string' ? width : ' '.repeat(clamp(integerArgument('width', width, 4), 'width', 1000));
    const lines = textOf(value, run).split('\n');
    allowText(run, lines.length * (prefix.length + 1));
    return lines
      .map((line, index) => {
        if (index === 0) return truthy(first, run) ? prefix + line : line;
        return line === '' && !truthy(blank, run) ? line : prefix + line;
      })
      .join('\n');
  }),
  center: filter('width?', (value, [width], run) => {
    const text = textOf(value, run);
    const columns = integerArgument('width', width, 80);
    const total = columns - countCharacters(text);
    if (total <= 0) return text;
    allowText(run, total + text.length);
    // Python puts the odd space to the left exactly when the width is odd.
    const left = Math.floor(total / 2) + (total % 2 === 1 && columns % 2 === 1 ? 1 : 0);
    return ' '.repeat(left) + text + ' '.repeat(total - left);
  }),
  format: filter('…', (value, args, run) => formatPercent(textOf(value, run), args, run)),
  b64encode: filter('', (value, _, run) => {
    const text = textOf(value, run);
    spend(run, text.length >>> 2);
    return encodeBase64(text);
  }),
  b64decode: filter('', (value, _, run) => {
    const text = textOf(value, run);
    spend(run, text.length >>> 2);
    const decoded = decodeBase64(text);
    if (decoded === undefined) throw new TemplateError('b64decode needs the Base64 form of UTF-8 text');
    return decoded;
  }),
  urlencode: filter('', (value, _, run) => {
    if (!isMap(value) && !Array.isArray(value)) return percentEncode(textOf(value, run), '/');
    const pairs = isMap(value) ? Object.entries(value) : itemsOf(value, run).map((pair) => iterate(pair, run));
    spend(run, pairs.length);
    return pairs
      .map((pair) => pair.map((part) => percentEncode(textOf(part, run), '').replaceAll('%20', '+')).join('='))
      .join('&');
  }),
  escape: filter('', (value, _, run) => {
    const text = textOf(value, run);
    allowText(run, text.length * 5);
    return text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll("'", '&#39;')
      .replaceAll('"', '&#34;');
  }),
  join: filter('d|sep? attribute?', (value, [delimiter, attribute], run) => {
    const items = itemsOf(value, run);
    const read = attributeReader(attribute, run);
    const separator = textArgument(delimiter, '', run);
    let size = 0;
    const texts = items.map((item) => {
      const text = textOf(read(item), run);
      size += text.length + separator.length;
      if (size > LIMITS.output) allowText(run, size);
      return text;
    });
    allowText(run, size);
    return texts.join(separator);
  }),
};

function percentEncode(text: string, safe: string): string {
  // encodeURIComponent refuses half a surrogate pair; Python would refuse it too.
  if (/\p{Surrogate}/u.test(text)) throw new TemplateError('the text holds half of a Unicode character');
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return safe === '/' ? encoded.replaceAll('%2F', '/') : encoded;
}

function clamp(value: number, name: string, most: number): number {
  if (value > most) throw new TemplateError(`the argument '${name}' is at most ${most}`);
  return Math.max(0, value);
}

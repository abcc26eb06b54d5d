// The Python methods people write out of habit: `d.get('a')`, `name.upper()`, `rows.count(x)`. Only these exist;
// a method never comes from the data, and none changes its receiver.
import { TemplateError } from './error.js';
import { entriesOf } from './filters/maps.js';
import { print } from './json-text.js';
import { isMap, isNothing, kindOf } from './kinds.js';
import { allowText, spend, spendText } from './limits.js';
import {
  capitalize,
  countCharacters,
  countOccurrences,
  pythonSplit,
  pythonSplitRight,
  pythonStrip,
  pythonTitle,
  replaceText,
} from './python-text.js';
import { contentOf } from './reference.js';
import type { Run } from './scope.js';
import { type Signature, signature } from './signature.js';
import { suggestion } from './suggest.js';
import { equal, item, iterate } from './values.js';
import { plain } from './views.js';

interface Method<Receiver> {
  readonly signature: Signature;
  call(receiver: Receiver, args: readonly unknown[], run: Run): unknown;
}

function method<Receiver>(params: string, call: Method<Receiver>['call']): Method<Receiver> {
  return { signature: signature(params), call };
}

const text = (params: string, call: Method<string>['call']): Method<string> => method(params, call);

const TEXT: Readonly<Record<string, Method<string>>> = {
  upper: text('', (self) => self.toUpperCase()),
  lower: text('', (self) => self.toLowerCase()),
  capitalize: text('', (self) => capitalize(self)),
  title: text('', (self) => pythonTitle(self)),
  strip: text('chars?', (self, [chars], run) => pythonStrip(self, optionalText(chars, run), 'both')),
  lstrip: text('chars?', (self, [chars], run) => pythonStrip(self, optionalText(chars, run), 'left')),
  rstrip: text('chars?', (self, [chars], run) => pythonStrip(self, optionalText(chars, run), 'right')),
  split: text('sep? maxsplit?', (self, [sep, limit], run) =>
    pythonSplit(self, optionalText(sep, run), whole(limit, -1), run),
  ),
  rsplit: text('sep? maxsplit?', (self, [sep, limit], run) =>
    pythonSplitRight(self, optionalText(sep, run), whole(limit, -1), run),
  ),
  splitlines: text('', (self) => (self === '' ? [] : self.replace(/(?:\r\n|\r|\n)$/, '').split(/\r\n|\r|\n/))),
  replace: text('old new count?', (self, [old, fresh, count], run) =>
    replaceText(self, print(old, run), print(fresh, run), whole(count, -1), run),
  ),
  startswith: text('prefix', (self, [prefix], run) => anyOf(prefix, (word) => self.startsWith(word), run)),
  endswith: text('suffix', (self, [suffix], run) => anyOf(suffix, (word) => self.endsWith(word), run)),
  removeprefix: text('prefix', (self, [prefix], run) => {
    const word = print(prefix, run);
    return self.startsWith(word) ? self.slice(word.length) : self;
  }),
  removesuffix: text('suffix', (self, [suffix], run) => {
    const word = print(suffix, run);
    return word !== '' && self.endsWith(word) ? self.slice(0, -word.length) : self;
  }),
  join: text('iterable', (self, [list], run) => {
    const parts = iterate(list, run).map((part) => print(part, run));
    allowText(
      run,
      parts.reduce((size, part) => size + part.length + self.length, 0),
    );
    return parts.join(self);
  }),
  find: text('sub', (self, [sub], run) => {
    const at = self.indexOf(print(sub, run));
    return at === -1 ? -1 : countCharacters(self.slice(0, at));
  }),
  count: text('sub', (self, [sub], run) => {
    const word = print(sub, run);
    return word === '' ? countCharacters(self) + 1 : countOccurrences(self, word, run);
  }),
  isdigit: text('', (self) => /^\p{Nd}+$/u.test(self)),
  isalpha: text('', (self) => /^\p{L}+$/u.test(self)),
  isalnum: text('', (self) => /^[\p{L}\p{N}]+$/u.test(self)),
  zfill: text('width', (self, [width], run) => {
    allowText(run, whole(width, 0));
    const sign = /^[+-]/.exec(self)?.[0] ?? '';
    return sign + self.slice(sign.length).padStart(whole(width, 0) - sign.length, '0');
  }),
};

const LIST: Readonly<Record<string, Method<readonly unknown[]>>> = {
  index: method('value', (self, [value], run) => {
    const at = self.findIndex((element) => equal(element, value, run));
    if (at === -1) throw new TemplateError('index: the value is not in the list');
    return at;
  }),
  count: method('value', (self, [value], run) => self.filter((element) => equal(element, value, run)).length),
};

const MAP: Readonly<Record<string, Method<unknown>>> = {
  get: method('key default?', (self, [key, fallback], run) => item(self, key, run) ?? fallback),
  keys: method('', (self, _, run) => entriesOf(self, run).map(([key]) => key)),
  values: method('', (self, _, run) => entriesOf(self, run).map(([, value]) => value)),
  items: method('', (self, _, run) => entriesOf(self, run)),
};

const NAMES: ReadonlySet<string> = new Set([TEXT, LIST, MAP].flatMap((table) => Object.keys(table)));
const CHANGING: ReadonlySet<string> = new Set([
  'append',
  'extend',
  'insert',
  'pop',
  'remove',
  'update',
  'clear',
  'setdefault',
]);

/** The signatures a name can have, to refuse an unknown method or a wrong call before anything runs. */
export function methodSignatures(name: string): readonly Signature[] {
  if (!NAMES.has(name)) {
    if (CHANGING.has(name)) throw new TemplateError(`templates cannot change data, so there is no method '${name}'`);
    throw new TemplateError(`unknown method '${name}'${suggestion(name, NAMES)}`);
  }
  return [TEXT, LIST, MAP].flatMap((table) => own<Method<never>>(table, name)?.signature ?? []);
}

export function callMethod(name: string, receiver: unknown, args: readonly unknown[], run: Run): unknown {
  const self = contentOf(plain(receiver));
  if (isNothing(self)) return undefined;
  if (typeof self === 'string') {
    spendText(run, self.length);
    const found = own<Method<string>>(TEXT, name);
    if (found) return checked(found, args).call(self, args, run);
  } else if (Array.isArray(self)) {
    spend(run, 1 + self.length);
    const found = own<Method<readonly unknown[]>>(LIST, name);
    if (found) return checked(found, args).call(self, args, run);
  } else if (isMap(self)) {
    const found = own<Method<unknown>>(MAP, name);
    // `get` asks the receiver as the template sees it, so a step value stays tolerant.
    if (found) return checked(found, args).call(name === 'get' ? receiver : self, args, run);
  }
  throw new TemplateError(`${kindOf(self)} has no method '${name}'`);

  function checked<R>(found: Method<R>, given: readonly unknown[]): Method<R> {
    const { required, names } = found.signature;
    if (given.length < required || given.length > names.length) {
      throw new TemplateError(`method '${name}' is called with the wrong number of arguments`);
    }
    return found;
  }
}

function own<M>(table: Readonly<Record<string, M>>, name: string): M | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function optionalText(value: unknown, run: Run): string | undefined {
  return isNothing(value) ? undefined : print(value, run);
}

function whole(value: unknown, fallback: number): number {
  if (isNothing(value)) return fallback;
  if (Number.isInteger(value)) return Number(value);
  throw new TemplateError(`expected a whole number, not ${kindOf(value)}`);
}

function anyOf(words: unknown, holds: (word: string) => boolean, run: Run): boolean {
  if (!Array.isArray(words)) return holds(print(words, run));
  return words.some((word) => holds(print(word, run)));
}

// Random expressions from a seed: mostly of matching types, sometimes not, never deeper than a few levels.

/** What the names below mean while a generated expression runs. */
export const CONTEXT = {
  n: 7,
  m: -3,
  zero: 0,
  ratio: 2.5,
  name: 'Ada Lovelace',
  word: 'hello',
  empty: '',
  digits: '42',
  path: 'a/b c?d=1&e=é',
  yes: true,
  no: false,
  gone: null,
  xs: [3, 1, 2, 3],
  words: ['pear', 'Apple', 'fig', 'apple'],
  nested: [[1, 2], [3], []],
  rows: [
    { id: 1, name: 'b', score: 2.5, ok: true, tag: { k: 'x' } },
    { id: 2, name: 'a', score: 1, ok: false, tag: { k: 'y' } },
    { id: 3, name: 'B', score: 4, ok: true, tag: { k: 'x' } },
  ],
  user: { name: 'Ada', age: 36, langs: ['en', 'fr'], address: { city: 'London', zip: '01234' } },
  counts: { b: 2, a: 1, c: 3 },
} as const;

type Kind = 'number' | 'text' | 'boolean' | 'list' | 'map';
const KINDS: readonly Kind[] = ['number', 'text', 'boolean', 'list', 'map'];

/** A small, fast generator of uniform numbers in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function generateExpressions(seed: number, count: number): string[] {
  const random = randomFrom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(...choices: readonly [T, ...T[]]): T => choices[below(choices.length)] ?? choices[0];
  const many = (least: number, most: number, make: () => string): string =>
    Array.from({ length: least + below(most - least + 1) }, make).join(', ');

  const small = () => String(below(6) - 2);
  const literalText = () => `'${pick('a', 'b', 'Ab c', '', ' x ', 'l', '42', '3.7', 'é', 'a,b', "it\\'s")}'`;
  const attribute = () => `'${pick('name', 'id', 'score', 'ok', 'tag.k')}'`;

  function expression(kind: Kind, depth: number): string {
    // Now and then a value of the wrong kind, or none at all.
    if (random() < 0.04) return pick('missing', 'none', 'gone', 'user.nope', expression(pick(...kinds()), depth - 1));
    if (depth <= 0) return leaf(kind);
    const inner = (of: Kind) => expression(of, depth - 1);
    if (random() < 0.08) return `(${inner(kind)} if ${inner('boolean')} else ${inner(kind)})`;
    if (random() < 0.04) return `(${inner(kind)} ${pick('and', 'or')} ${inner(kind)})`;
    if (random() < 0.03) return `${pick('missing', 'gone', inner(kind))} | default(${inner(kind)})`;
    switch (kind) {
      case 'number':
        return number(inner);
      case 'text':
        return text(inner);
      case 'boolean':
        return boolean(inner);
      case 'list':
        return list(inner);
      case 'map':
        return map(inner);
    }
  }

  function kinds(): [Kind, ...Kind[]] {
    return [pick('number', 'text', ...KINDS)];
  }

  function leaf(kind: Kind): string {
    switch (kind) {
      case 'number':
        return pick('n', 'm', 'zero', 'ratio', small(), '1.5', '10', 'user.age', 'counts.a', 'xs[0]', 'rows[1].score');
      case 'text':
        return pick('name', 'word', 'empty', 'digits', 'path', literalText(), 'user.name', "user['address'].zip");
      case 'boolean':
        return pick('yes', 'no', 'true', 'false', 'rows[0].ok', 'True');
      case 'list':
        return pick('xs', 'words', 'nested', 'rows', '[]', 'user.langs', '[1, 2]', 'nested[0]', "['b', 'A']");
      case 'map':
        return pick('user', 'counts', 'rows[0]', 'user.address', '{}', "{'k': 1}", 'rows[-1].tag');
    }
  }

  type Inner = (kind: Kind) => string;

  function number(inner: Inner): string {
    return pick(
      () => `(${inner('number')} ${pick('+', '-', '*', '/', '//', '%')} ${inner('number')})`,
      () => `${inner('number')} ${pick('+', '-', '*')} ${inner('number')}`,
      () => `(${inner('number')}) ** ${pick('2', '0', '3', '-1')}`,
      () => `-(${inner('number')})`,
      () =>
        `(${inner('number')}) | ${pick('abs', 'int', 'float', 'round', 'round(1)', "round(1, 'floor')", "round(0, 'ceil')")}`,
      () => `(${inner('text')}) | ${pick('length', 'wordcount', 'int', 'float', 'int(5)', 'float(1.5)')}`,
      () => `(${inner('list')}) | ${pick('length', 'count', 'first', 'last')}`,
      () => `${pick('xs', '[1, 2.5]', 'nested[0]')} | ${pick('sum', 'min', 'max', 'first', 'last', 'sum(start=2)')}`,
      () => `rows | ${pick(`sum(attribute='id')`, `map(attribute='score') | max`, `sum('score', 1)`)}`,
      () => `(${inner('list')})[${small()}]`,
      () => `(${inner('map')}).get(${attribute()}, ${inner('number')})`,
      () => `(${inner('text')}).${pick('find', 'count')}(${literalText()})`,
      () => `${pick('xs', 'words')}.count(${pick('3', "'fig'")})`,
      () => `(${inner('boolean')}) + ${inner('number')}`,
    )();
  }

  function text(inner: Inner): string {
    return pick(
      () => `(${inner('text')} + ${inner('text')})`,
      () => `(${inner(pick('text', 'number', 'text', 'boolean'))} ~ ${inner(pick('text', 'number', 'list'))})`,
      () => `(${inner('text')}) | ${textFilter(inner)}`,
      () => `(${inner('text')}).${textMethod()}`,
      () => `(${inner('text')})[${pick('', small())}:${pick('', small())}${pick('', '', ':2', ':-1')}]`,
      () => `(${inner('text')})[${small()}]`,
      () =>
        `${pick('words', 'xs', 'user.langs', 'rows')} | join(${pick("','", "' '", "''", "', ', attribute='name'")})`,
      () => `'${pick(',', '-', '')}'.join(${pick('words', 'user.langs', `(${inner('text')})`)})`,
      () => `(${inner('number')}) | string`,
      () => `'${pick('%s', '%5s|', '%-4s|', '%.2s')}' | format(${inner('text')})`,
      () => `'${pick('%d', '%05.2f', '%+d', '%x', '%5d', '%e', '%.0f')}' % ${pick('n', 'm', '255', 'zero')}`,
      () => `(${inner('text')}) * ${pick('0', '2', '-1')}`,
      () => `(${inner('map')}) | tojson`,
    )();
  }

  const textFilter = (inner: Inner) =>
    pick<() => string>(
      () => pick('upper', 'lower', 'capitalize', 'title', 'trim', 'string', 'reverse', 'escape', 'urlencode', 'safe'),
      () => `replace(${literalText()}, ${literalText()}${pick('', ', 1')})`,
      () => `trim(${literalText()})`,
      () => `truncate(${pick('5', '8, true', "6, false, '.'", "5, true, '', 0")})`,
      () => `${pick('indent', 'indent(2, true)', "indent('> ')")}`,
      () => `center(${pick('10', '11', '20', '3')})`,
      () => `default(${inner('text')}, ${pick('true', 'false')})`,
    )();

  const textMethod = () =>
    pick<() => string>(
      () => `${pick('upper', 'lower', 'capitalize', 'title', 'strip', 'lstrip', 'rstrip')}()`,
      () => `${pick('strip', 'lstrip', 'rstrip', 'removeprefix', 'removesuffix')}(${literalText()})`,
      () => `replace(${literalText()}, ${literalText()}${pick('', ', 1')})`,
      () => `zfill(${pick('3', '8')})`,
    )();

  function boolean(inner: Inner): string {
    const same = pick('number', 'text', 'number', 'list');
    return pick(
      () => `(${inner(same)} ${pick('==', '!=', '<', '<=', '>', '>=')} ${inner(same)})`,
      () =>
        `(${inner('number')} ${pick('<', '<=', '==')} ${inner('number')} ${pick('<', '!=', '>=')} ${inner('number')})`,
      () => `(not ${inner(pick('boolean', 'list', 'text', 'number'))})`,
      () => `(${inner('boolean')} ${pick('and', 'or')} ${inner('boolean')})`,
      () => `(${inner('number')} ${pick('in', 'not in')} ${inner('list')})`,
      () => `(${inner('text')} ${pick('in', 'not in')} ${inner(pick('list', 'text', 'map'))})`,
      () => `((${inner(pick(...kinds()))}) is ${pick('', 'not ')}${kindTest()})`,
      () => `((${inner('number')}) is ${pick('odd', 'even', 'divisibleby 3', 'eq 7', 'gt 1', 'le(2)', 'ne 3')})`,
      () => `((${inner('text')}) is ${pick('lower', 'upper', "eq 'a'", "in ['a', 'b']")})`,
      () => `(${inner('text')}).${pick("startswith('a')", "endswith('c')", 'isdigit()', 'isalpha()', 'isalnum()')}`,
    )();
  }

  const kindTest = () =>
    pick(
      'defined',
      'undefined',
      'none',
      'string',
      'number',
      'integer',
      'float',
      'boolean',
      'sequence',
      'mapping',
      'iterable',
    );

  function list(inner: Inner): string {
    return pick(
      () => `[${many(0, 3, () => inner(pick(...kinds())))}]`,
      () => `(${inner('list')} + ${inner('list')})`,
      () => `(${inner('list')})[${pick('', small())}:${pick('', small())}${pick('', '', ':2', ':-1')}]`,
      () =>
        `${pick('xs', 'words', '[2, 1]')} | ${pick('sort', 'sort(true)', 'unique | list', 'reverse | list', 'list')}`,
      () =>
        `words | ${pick('sort(case_sensitive=true)', "map('upper') | list", "reject('lower') | list", 'unique(true) | list')}`,
      () =>
        `xs | ${pick("select('odd') | list", "reject('gt', 2) | list", "map('string') | list", 'batch(3, 0) | list', 'slice(3) | list', "slice(3, 'x') | list")}`,
      () =>
        `rows | ${pick("selectattr('ok')", "rejectattr('id', 'gt', 1)", `map(attribute=${attribute()})`, "selectattr('tag.k', 'eq', 'x')", "map(attribute='q', default=0)")} | list`,
      () => `rows | sort(attribute=${attribute()}) | map(attribute='id') | list`,
      () => `rows | groupby(${pick("'tag.k'", "'ok'", "'name'")}) | map('first') | list`,
      () =>
        `(${inner('text')}).${pick('split()', "split(',')", "split(' ', 1)", 'rsplit()', "rsplit(' ', 1)", 'splitlines()')}`,
      () =>
        `(${inner('map')}) | ${pick('list', 'dictsort', "dictsort(by='value')", 'dictsort(reverse=true)', 'items | list')}`,
      () => `(${inner('map')}).${pick('keys', 'values', 'items')}() | list`,
      () => `range(${pick('3', '1, 4', '5, 0, -2', '0')}) | list`,
      () => `(${inner('text')}) | list`,
      () => `(${inner('list')}) * ${pick('0', '2')}`,
    )();
  }

  function map(inner: Inner): string {
    return pick(
      () => `{${many(0, 3, () => `${literalText()}: ${inner(pick(...kinds()))}`)}}`,
      () => `dict(a=${inner('number')}, b=${inner('text')})`,
      () => `dict(${inner('map')}, z=${inner('number')})`,
      () => `(rows | ${pick('first', 'last', "selectattr('ok') | first", "sort(attribute='score') | last")})`,
      () => `rows[${small()}]`,
    )();
  }

  /** Operators in a row without parentheses: what binds tighter is up to the parser. */
  function flat(): string {
    const operand = () =>
      pick('', '', '', '-', '+') + leaf('number') + pick('', '', '', '', ' | abs', ' | int', '[0]', '.a');
    const parts = Array.from({ length: 2 + below(4) }, operand);
    const operator = () =>
      pick('+', '-', '*', '/', '//', '%', '**', '~', '==', '<', '>=', '!=', 'and', 'or', 'and not', 'in xs or');
    const joined = parts.reduce((left, right) => {
      const chosen = operator();
      // A tower of powers would keep Python busy for hours.
      return `${left} ${chosen === '**' && left.includes('**') ? '*' : chosen} ${right}`;
    });
    return (
      pick('', 'not ') + joined + pick('', '', ' is odd', ' is defined', ` if ${leaf('boolean')} else 0`, ' | string')
    );
  }

  return Array.from({ length: count }, (_, index) =>
    index % 8 === 7 ? flat() : expression(KINDS[below(KINDS.length)] ?? 'number', 1 + below(3)),
  );
}

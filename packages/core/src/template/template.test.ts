import { describe, expect, it } from 'vitest';
import { compileTemplate, isTemplate, scopeOf, TemplateError } from './index.js';

const evaluate = (source: string, values: Record<string, unknown> = {}) =>
  compileTemplate(source).evaluate(scopeOf(values));
const text = (source: string, values: Record<string, unknown> = {}) => compileTemplate(source).text(scopeOf(values));

function failure(work: () => unknown): TemplateError {
  try {
    work();
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error('expected a TemplateError');
}

describe('what counts as a template', () => {
  it.each([
    ['{{ x }}', true],
    ['a {% if x %}b{% endif %}', true],
    ['plain', false],
    ['only {{ opened', false],
    ['{# comment #}', false],
    ['{{ %}', false],
  ])('%s: %s', (source, expected) => {
    expect(isTemplate(source)).toBe(expected);
  });

  it('returns text without markers unchanged, trailing newline included', () => {
    expect(evaluate('01234\n')).toBe('01234\n');
  });
});

describe('a lone expression', () => {
  it.each([
    ['number', 3],
    ['text', '01234'],
    ['boolean', false],
    ['list', [1, { a: null }]],
    ['map', { a: { b: [1] } }],
    ['integer beyond 2^53', 9007199254740993n],
  ])('keeps the type of a %s', (_, value) => {
    expect(evaluate('{{ x }}', { x: value })).toEqual(value);
  });

  it('returns data by reference instead of copying it', () => {
    const rows = [{ id: 1 }];
    expect(evaluate('{{ rows }}', { rows })).toBe(rows);
  });

  it('turns undefined into null', () => {
    expect(evaluate('{{ missing.a.b }}')).toBeNull();
  });

  it('ignores surrounding whitespace', () => {
    expect(evaluate('  {{ 1 + 1 }}\n')).toBe(2);
  });

  it('is the parsed value when its outermost filter is tojson', () => {
    expect(evaluate('{{ x | tojson }}', { x: { a: 1 } })).toEqual({ a: 1 });
  });

  it('is text when tojson is not outermost', () => {
    expect(evaluate("{{ x | tojson | replace('1', '2') }}", { x: { a: 1 } })).toBe('{"a":2}');
  });

  it('does not parse text that looks like another type', () => {
    expect(evaluate('{{ x }}', { x: '[1, 2]' })).toBe('[1, 2]');
  });
});

describe('a mixed template', () => {
  it.each([
    [null, ''],
    [undefined, ''],
    [true, 'True'],
    [false, 'False'],
    [1.5, '1.5'],
    [9007199254740993n, '9007199254740993'],
    [{ a: [1, 'é'] }, '{"a":[1,"é"]}'],
    [[1n, null], '[1,null]'],
  ])('prints %s as %s', (x, printed) => {
    expect(evaluate('<{{ x }}>', { x })).toBe(`<${printed}>`);
  });

  it('is text even when all of it is expressions', () => {
    expect(evaluate('{{ 1 }}{{ 2 }}')).toBe('12');
  });

  it('drops one trailing newline, as Jinja does', () => {
    expect(evaluate('v={{ 1 }}\n\n')).toBe('v=1\n');
  });

  it('never renders its own output again', () => {
    expect(evaluate('v={{ x }}', { x: '{{ 1 + 1 }}' })).toBe('v={{ 1 + 1 }}');
  });
});

describe('text rendering', () => {
  it('prints a lone value', () => {
    expect(text('{{ x }}', { x: { a: 1 } })).toBe('{"a":1}');
  });

  it('keeps the JSON text of tojson', () => {
    expect(text('{{ x | tojson }}', { x: 'a' })).toBe('"a"');
  });

  it('keeps surrounding whitespace', () => {
    expect(text(' {{ 1 }} ')).toBe(' 1 ');
  });
});

describe('roots', () => {
  const roots = (source: string) => [...compileTemplate(source).roots].sort();

  it('are the names read from the scope', () => {
    expect(roots('{{ a.b[c] | default(d) }} {% if e is in f %}{{ g if false }}{% endif %}')).toEqual([
      'a',
      'c',
      'd',
      'e',
      'f',
      'g',
    ]);
  });

  it('leave out loop variables, set names and functions', () => {
    expect(roots('{% set n = 1 %}{% for x in range(n) %}{{ x }}{{ loop.index }}{{ now() }}{% endfor %}')).toEqual([]);
  });

  it('keep a name that is set only on one path', () => {
    expect(roots('{% if a %}{% set b = 1 %}{{ b }}{% endif %}{{ b }}')).toEqual(['a', 'b']);
  });

  it('keep a name that is read before it is set', () => {
    expect(roots('{% set a = a + 1 %}{{ a }}')).toEqual(['a']);
  });

  it('are asked for only when the evaluation reaches them', () => {
    const asked: string[] = [];
    const scope = { get: (name: string) => void asked.push(name) };
    compileTemplate('{{ a or (b and c) }}').evaluate(scope);
    expect(asked).toEqual(['a', 'b']);
  });
});

describe('errors', () => {
  it('name the position in the template text', () => {
    const error = failure(() => compileTemplate('line one\n  {{ x | nope }}'));
    expect(error).toMatchObject({ offset: 18, line: 2, column: 10 });
  });

  it('name the position of an operation that fails while running', () => {
    const error = failure(() => evaluate('ab {{ 1 +\n 2 / zero }}', { zero: 0 }));
    expect(error).toMatchObject({ message: 'division by zero', line: 2, column: 4 });
  });

  it.each([
    ['{{ x | uper }}', "unknown filter 'uper'; did you mean 'upper'?"],
    ['{{ x is definde }}', "unknown test 'definde'; did you mean 'defined'?"],
    ['{{ rang(3) }}', "unknown function 'rang'; did you mean 'range'?"],
    ['{{ x.strp() }}', "unknown method 'strp'; did you mean 'strip'?"],
    ['{{ x | zzzzzz }}', "unknown filter 'zzzzzz'"],
    ["{{ x | map('uper') }}", "unknown filter 'uper'; did you mean 'upper'?"],
    ["{{ x | selectattr('a', 'eqq', 1) }}", "unknown test 'eqq'; did you mean 'eq'?"],
    ['{{ x | join(sepp=1) }}', "filter 'join' has no argument 'sepp'"],
    ['{{ x | replace(1) }}', "filter 'replace' needs its argument 'new'"],
    ['{{ x | upper(1) }}', "filter 'upper' takes no arguments"],
    ["{{ x | default('a', value='b') }}", "filter 'default' is given its argument 'value' twice"],
    ['{{ x } }}', "unexpected '}'"],
    ['{{ x %} }}', "unexpected '}'"],
    ['}} {{ x', "'{{' is never closed with '}}'"],
    ['{{ (x }} }}', "unexpected '}'; expected ')'"],
    ['{{ }}', "unexpected '}}'; expected a value"],
    ['{{ a b }}', "unexpected 'b'"],
    ['{{ a && b }}', "use 'and' instead of '&&'"],
    ['{{ a || b }}', "use 'or' instead of '||'"],
    ['{{ !a }}', "use 'not' instead of '!'"],
    ["{{ 'a }} }}", 'the text literal is never closed'],
    ['{% if x %}{{ x }}', "'{% if %}' is never closed with '{% endif %}'"],
    ['{{ 1 }}{% endfor %}', "'{% endfor %}' does not belong here"],
    ['{% for x in y %}{% endif %}', "'{% endif %}' does not belong here; '{% for %}' is still open"],
    ['{% macro f() %}{% endmacro %}', "'{% macro %}' is not supported in playbook templates"],
    ['{% fro x in y %}{% endfor %}', "unknown statement 'fro'; did you mean 'for'?"],
    ['{{ x.append(1) }}', "templates cannot change data, so there is no method 'append'"],
    ['{% set x.y = 1 %}', "'x' is not a namespace() of this template"],
  ])('%s is refused before anything runs: %s', (source, message) => {
    const error = failure(() => compileTemplate(source));
    expect(error.message.startsWith(message) ? message : error.message).toBe(message);
    expect(error.offset).toBeTypeOf('number');
  });

  it('of the scope itself pass through', () => {
    const scope = {
      get: () => {
        throw new TypeError('no secret');
      },
    };
    expect(() => compileTemplate('{{ x }}').evaluate(scope)).toThrow(new TypeError('no secret'));
  });
});

describe('now()', () => {
  it('is the time the caller put into the scope', () => {
    expect(evaluate('{{ now() }}', { __now__: '2024-05-01T00:00:00Z' })).toBe('2024-05-01T00:00:00Z');
  });

  it('is an error without one', () => {
    expect(failure(() => evaluate('{{ now() }}')).message).toBe('now() is not available here');
  });
});

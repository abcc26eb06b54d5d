import { describe, expect, it } from 'vitest';
import { compileTemplate, compileValue, LIMITS, scopeOf, TemplateError } from './index.js';

const evaluate = (source: string, values: Record<string, unknown> = {}) =>
  compileTemplate(source).evaluate(scopeOf(values));

describe('what a template cannot reach', () => {
  class Account {
    secret = 'hidden';
  }

  it.each([
    '{{ x.constructor }}',
    '{{ x.__proto__ }}',
    "{{ x['constructor']['prototype'] }}",
    '{{ s.length }}',
    '{{ l.length }}',
    '{{ x.toString }}',
    '{{ f }}',
    '{{ x.method }}',
    '{{ account.secret }}',
    "{{ x | attr('__proto__') }}",
    "{{ [x] | map(attribute='constructor.name') | first }}",
    '{{ constructor }}',
    '{{ __proto__ }}',
    '{{ hasOwnProperty }}',
  ])('%s is undefined', (source) => {
    const values = { x: { method: () => 1 }, s: 'abc', l: [1], f: () => 1, account: new Account() };
    expect(evaluate(source, values)).toBeNull();
  });

  it.each([
    '{{ x.toString() }}',
    '{{ x.hasOwnProperty("a") }}',
    '{{ constructor("x") }}',
    '{{ x | constructor }}',
    '{{ x is __proto__ }}',
  ])('%s does not compile', (source) => {
    expect(() => compileTemplate(source)).toThrow(TemplateError);
  });

  it('builds maps whose __proto__ is an ordinary key', () => {
    const result = evaluate('{{ {"__proto__": {"polluted": true}} }}') as Record<string, unknown>;
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('renders a key __proto__ of a value as an ordinary key', () => {
    const rendered = compileValue(JSON.parse('{"{{ k }}": "{{ 1 }}"}')).render(scopeOf({ k: '__proto__' }));
    expect(JSON.stringify(rendered)).toBe('{"__proto__":1}');
  });

  it('refuses to return what is not data', () => {
    expect(() => evaluate('{{ x }}', { x: new Date(0) })).toThrow(
      'a value of type Date is not data a template can use',
    );
  });
});

describe('what a template may cost', () => {
  it.each([
    ['"x" * 10**9', 'the text grows beyond'],
    ['[0] * 10**9', 'the list grows beyond'],
    ['range(10**9)', 'range is limited to'],
    ['10 ** (10 ** 6)', 'the number is too large'],
    ['2 ** 100000', 'the number is too large'],
    ['("9" * 100000) | int', 'the number is too large'],
    ['("x" * 1000000) | replace("x", "x" * 1000)', 'the text grows beyond'],
    ['("x" * 1000000) | replace("", "x" * 1000)', 'the text grows beyond'],
    ['"a" | center(10**9)', 'the text grows beyond'],
    ['"%999999999d" | format(1)', 'the text grows beyond'],
    ['"1".zfill(10**9)', 'the text grows beyond'],
    ['[1] | batch(10**9, 0)', 'the list grows beyond'],
    ['[1] | slice(10**9)', 'the list grows beyond'],
    ['(["x" * 1000000] * 100) | join', 'the text grows beyond'],
    ['([["x" * 1000000] * 100]) ~ ""', 'the text grows beyond'],
    ['"a" | indent(10**9)', "the argument 'width' is at most"],
  ])('%s is refused', (source, message) => {
    expect(() => evaluate(`{{ ${source} }}`)).toThrow(TemplateError);
    expect(() => evaluate(`{{ ${source} }}`)).toThrow(message);
  });

  it('stops nested loops', () => {
    const source = '{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}';
    expect(() => evaluate(source)).toThrow(`more than ${LIMITS.steps} steps`);
  });

  it('stops a loop that repeats expensive work', () => {
    const source = '{% for a in range(100000) %}{% set x = big | upper %}{% endfor %}';
    expect(() => evaluate(source, { big: 'x'.repeat(1_000_000) })).toThrow(`more than ${LIMITS.steps} steps`);
  });

  it('stops text that doubles', () => {
    const source =
      '{% set ns = namespace(x="xxxxxxxx") %}{% for a in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}';
    expect(() => evaluate(source)).toThrow('the text grows beyond');
  });

  it('stops output that grows without end', () => {
    const source = '{% for a in range(1000) %}{{ big }}{% endfor %}';
    expect(() => evaluate(source, { big: 'x'.repeat(100_000) })).toThrow('the text grows beyond');
  });

  it.each([
    ['parentheses', `{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`],
    ['lists', `{{ ${'['.repeat(5000)}${']'.repeat(5000)} }}`],
    ['negations', `{{ ${'not '.repeat(5000)}1 }}`],
    ['signs', `{{ ${'- '.repeat(5000)}1 }}`],
    ['a long sum', `{{ 1${' + 1'.repeat(5000)} }}`],
    ['a long path', `{{ a${'.a'.repeat(5000)} }}`],
    ['many filters', `{{ a${' | string'.repeat(5000)} }}`],
    ['inline choices', `{{ ${'1 if a else '.repeat(5000)}1 }}`],
    ['blocks', '{% if a %}'.repeat(5000) + '{% endif %}'.repeat(5000)],
  ])('refuses endless nesting of %s', (_, source) => {
    expect(() => compileTemplate(source)).toThrow(TemplateError);
  });

  it('refuses data nested without end', () => {
    const x: Record<string, unknown> = {};
    x['self'] = x;
    expect(() => evaluate('{{ x }}', { x })).toThrow('nested deeper');
    expect(() => evaluate('<{{ x }}>', { x })).toThrow('nested deeper');
  });
});

describe('work hidden in a loop', () => {
  const big = 'x'.repeat(1_000_000);
  const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key ${i}`, i]));
  const values = { big, same: `${big.slice(1)}x`, keys };

  it.each([
    ['an index into long text', '{{ big[i] }}'],
    ['the comparison of long texts', '{% if big == same %}{% endif %}'],
    ['the truth of a big map', '{% if keys and keys and keys %}{% endif %}'],
    ['the length of long text', '{% set n = big | length %}'],
    ['a test on long text', '{% set n = big is startingwith big %}'],
    ['sorting long texts', '{% set n = [big, same] | sort %}'],
    ['Base64', '{% set n = big | b64encode %}'],
    ['a long body', '{% set n = 1 %}'.repeat(5_000)],
    ['a long expression', `{% set n = ${'1 and '.repeat(5_000)} 1 %}`],
  ])('%s is charged', (_, body) => {
    const source = `{% for i in range(100000) %}${body}{% endfor %}`;
    expect(() => evaluate(source, values)).toThrow(`more than ${LIMITS.steps} steps`);
  });
});

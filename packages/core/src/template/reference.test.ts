// What templates see of a value that is kept elsewhere, and when they ask for the rest of it.
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json/types.js';
import { compileCondition, compileTemplate, scopeOf, TemplateError, tolerant } from './index.js';
import { ReferenceNeeded, type References, withReferences } from './reference.js';

const REF = 'noetl://execution/325/result/fetch/326';
const LOST = 'noetl://execution/325/result/fetch/999';

const shown: JsonObject = { _ref: REF, _store: 'kv', _preview: '{"rows":', count: 3 };
const whole: Json = {
  count: 3,
  rows: [
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ],
  meta: { total: 3 },
};

function holding(contents: Record<string, Json>): References {
  return {
    get(ref) {
      if (ref === LOST) return { gone: `${ref} is gone` };
      return contents[ref] === undefined ? undefined : { value: contents[ref] };
    },
  };
}

const nothing = holding({});
const everything = holding({ [REF]: whole });

function evaluate(source: string, references: References | undefined, value: unknown = tolerant(shown)): Json {
  return withReferences(references, () => compileTemplate(source).evaluate(scopeOf({ big: value })));
}

describe('without the content', () => {
  it.each(['{{ big._ref }}', '{{ big._store }}', '{{ big._ref is defined }}', '{{ big._preview is defined }}'])(
    '%s is answered',
    (source) => expect(() => evaluate(source, nothing)).not.toThrow(),
  );

  it('a field that is shown is answered', () => expect(evaluate('{{ big.count }}', nothing)).toBe(3));

  it('the whole is the reference itself', () => expect(evaluate('{{ big }}', nothing)).toEqual(shown));

  it('printing prints the reference', () => expect(evaluate('got {{ big }}', nothing)).toContain(`"_ref":"${REF}"`));

  it('a condition on the value as such holds', () =>
    expect(withReferences(nothing, () => compileCondition('{{ big }}').test(scopeOf({ big: tolerant(shown) })))).toBe(
      true,
    ));

  it.each([
    '{{ big.rows }}',
    '{{ big.rows[1][0] }}',
    '{{ big.data.rows }}',
    '{{ big["rows"] }}',
    '{{ big.rows is defined }}',
    '{{ big | length }}',
    '{{ big.items() }}',
    '{{ big[0] }}',
    '{{ big[:2] }}',
    "{{ 'rows' in big }}",
    '{% for key in big %}{{ key }}{% endfor %}',
    '{{ big | dictsort }}',
  ])('%s asks for it', (source) => {
    expect(() => evaluate(source, nothing)).toThrow(expect.objectContaining({ name: 'ReferenceNeeded', ref: REF }));
  });

  it('what is asked for is not a mistake of the author', () => {
    expect(new ReferenceNeeded(REF)).not.toBeInstanceOf(TemplateError);
  });

  it('keys that are known tell what is missing', () => {
    const known = tolerant({ ...shown, _keys: ['count', 'rows', 'meta'] });
    expect(evaluate('{{ big.other is defined }}', nothing, known)).toBe(false);
    expect(evaluate('{{ big.data }}', nothing, known)).toMatchObject({ _ref: REF });
    expect(() => evaluate('{{ big.rows }}', nothing, known)).toThrow(ReferenceNeeded);
  });
});

describe('with the content', () => {
  it.each<[string, Json]>([
    ['{{ big.rows[1][0] }}', 2],
    ['{{ big.data.rows[2][1] }}', 'c'],
    ['{{ big.result.meta.total }}', 3],
    ['{{ big.rows | length }}', 3],
    ['{{ big.other is defined }}', false],
    ['{{ big | length }}', 3],
    ['{{ big.get("meta") }}', { total: 3 }],
    ["{{ 'rows' in big }}", true],
  ])('%s is %j', (source, value) => expect(evaluate(source, everything)).toEqual(value));

  it('the whole is still the reference: nothing large is copied by passing it on', () =>
    expect(evaluate('{{ big.data }}', everything)).toEqual(shown));

  it('a value that has `data` of its own shows that', () => {
    const http = holding({ [REF]: { status_code: 200, data: { rows: [7] } } });
    expect(evaluate('{{ big.data }}', http)).toEqual({ rows: [7] });
    expect(evaluate('{{ big.rows[0] }}', http)).toBe(7);
  });

  it('a list is a list', () => {
    const list = holding({ [REF]: ['a', 'b', 'c'] });
    expect(evaluate('{{ big[1] }}', list)).toBe('b');
    expect(evaluate('{{ big | length }}', list)).toBe(3);
    expect(evaluate('{% for word in big %}{{ word }}{% endfor %}', list)).toBe('abc');
    expect(evaluate('{{ big[1:] }}', list)).toEqual(['b', 'c']);
    expect(evaluate("{{ 'c' in big }}", list)).toBe(true);
  });
});

it('a reference is found wherever it lies in the data', () => {
  expect(evaluate('{{ big.results[0].rows[0][1] }}', everything, { results: [shown] })).toBe('a');
});

it('content that is gone is an error that says so', () => {
  const lost = { ...shown, _ref: LOST };
  expect(() => evaluate('{{ big.rows }}', everything, lost)).toThrow(`${LOST} is gone`);
  expect(() => evaluate('{{ big.rows }}', everything, lost)).toThrow(TemplateError);
});

it.each([{ _ref: 'noetl://elsewhere' }, { _ref: 7 }, { _ref: 'https://example.org/1' }])(
  '%j is data like any other',
  (value) => expect(evaluate('{{ big.rows is defined }}', nothing, value)).toBe(false),
);

it('without references at all, a reference is a map like any other', () => {
  expect(evaluate('{{ big.rows is defined }}', undefined)).toBe(false);
});

it('references end with their evaluation, also when it fails', () => {
  expect(() => evaluate('{{ big.rows }}', nothing)).toThrow(ReferenceNeeded);
  expect(compileTemplate('{{ big.rows is defined }}').evaluate(scopeOf({ big: shown }))).toBe(false);
});

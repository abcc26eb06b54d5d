import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileCondition, compileTemplate, compileValue, isTemplate, scopeOf, TemplateError } from './index.js';

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    // An integer that a number cannot hold is read as a bigint.
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }),
    fc.string(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
  ),
})).value;

/** Pieces that make it likely to hit every corner of the grammar, in an order that mostly makes no sense. */
const PIECES =
  "{{ }} {% %} {# #} {%- -%} if elif else endif for in endfor set endset raw endraw = ( ) [ ] { } . , : | ~ + - * / // % ** == != < > and or not is x y loop.index 'a' \"b\" ' 1 2.5 none true upper default int range(3) namespace() sort map('upper') groupby('x') join tojson fromjson defined odd ? ! & é 😀 \\".split(
    ' ',
  );
const garbage = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 3 })), { maxLength: 14 })
  .map((pieces) => pieces.join(' '));

function onlyTemplateErrors(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    expect(error.message).not.toBe('');
    expect(error.line).toBeGreaterThan(0);
    expect(error.column).toBeGreaterThan(0);
  }
}

describe('for any input', () => {
  it('text without markers is returned unchanged', () => {
    fc.assert(
      fc.property(fc.string(), (source) => {
        fc.pre(!isTemplate(source));
        expect(compileTemplate(source).evaluate(scopeOf({}))).toBe(source);
      }),
    );
  });

  it('a lone name gives back the very value of the scope', () => {
    fc.assert(
      fc.property(json, (x) => {
        expect(compileTemplate('{{ x }}').evaluate(scopeOf({ x }))).toEqual(x);
      }),
    );
  });

  it('a value that passed through tojson and fromjson is equal to itself', () => {
    fc.assert(
      fc.property(json, (x) => {
        expect(compileTemplate('{{ (x | tojson | fromjson) == x }}').evaluate(scopeOf({ x }))).toBe(true);
      }),
    );
  });

  it('Base64 gives back the text it was made of', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (x) => {
        fc.pre(!/\p{Surrogate}/u.test(x));
        expect(compileTemplate('{{ x | b64encode | b64decode }}').evaluate(scopeOf({ x }))).toBe(x);
      }),
    );
  });

  it('integer division and modulo belong together, whatever the size', () => {
    const integer = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
    const narrow = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);
    fc.assert(
      fc.property(integer, integer, (a, b) => {
        fc.pre(b !== 0n);
        const scope = scopeOf({ a: narrow(a), b: narrow(b) });
        expect(compileTemplate('{{ a // b * b + a % b == a }}').evaluate(scope)).toBe(true);
        expect(compileTemplate('{{ a % b == 0 or (a % b < 0) == (b < 0) }}').evaluate(scope)).toBe(true);
      }),
    );
  });

  it('garbage raises nothing but TemplateError, and always says where', () => {
    const scope = scopeOf({ x: [{ x: 'a' }, { x: 'B' }], y: { z: 1 } });
    fc.assert(
      fc.property(garbage, (source) => {
        onlyTemplateErrors(() => compileTemplate(source).evaluate(scope));
        onlyTemplateErrors(() => compileTemplate(`{{ ${source} }}`).evaluate(scope));
        onlyTemplateErrors(() => compileTemplate(`{{ ${source} }}`).text(scope));
        onlyTemplateErrors(() => compileCondition(source).test(scope));
      }),
      { numRuns: 2_000 },
    );
  });

  it('a literal value is rendered to itself', () => {
    fc.assert(
      fc.property(json, (value) => {
        const compiled = compileValue(value as never);
        fc.pre(compiled.constant);
        expect(compiled.render(scopeOf({}))).toBe(value);
      }),
    );
  });
});

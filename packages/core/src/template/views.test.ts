import { describe, expect, it } from 'vitest';
import { compileCondition, compileTemplate, lazyMap, scopeOf, synonym, tolerant } from './index.js';

const evaluate = (source: string, values: Record<string, unknown>) =>
  compileTemplate(`{{ ${source} }}`).evaluate(scopeOf(values));

describe('a tolerant value', () => {
  const bare = { step: tolerant({ id: 7, rows: [1, 2] }) };
  const wrapped = { step: tolerant({ status: 'ok', data: { id: 7, status: 'inner' } }) };

  it.each([
    ['step.id', 7],
    ['step.data.id', 7],
    ['step.result.id', 7],
    ['step.data.data.id', 7],
    ['step["data"].rows[1]', 2],
    ['step.get("data").id', 7],
    ['step.missing', null],
    ['step.missing is defined', false],
  ])('without own data: %s', (source, expected) => {
    expect(evaluate(source, bare)).toEqual(expected);
  });

  it.each([
    ['step.status', 'ok'],
    ['step.data.status', 'inner'],
    ['step.id', 7],
    ['step.result.status', 'ok'],
    ['step.get("id")', 7],
  ])('with an object under data: %s', (source, expected) => {
    expect(evaluate(source, wrapped)).toEqual(expected);
  });

  it('lets an own null key win', () => {
    expect(evaluate('step.data', { step: tolerant({ data: null, id: 1 }) })).toBeNull();
  });

  it('is its plain data when it leaves the template', () => {
    const data = { id: 7, rows: [1, 2] };
    expect(evaluate('step', { step: tolerant(data) })).toBe(data);
    expect(evaluate('[step.data]', { step: tolerant(data) })).toEqual([data]);
    expect(evaluate('"" ~ step', bare)).toBe('{"id":7,"rows":[1,2]}');
  });

  it('behaves as its data in filters, tests and loops', () => {
    expect(evaluate('step | length', bare)).toBe(2);
    expect(evaluate('step is mapping', bare)).toBe(true);
    expect(evaluate('step == {"rows": [1, 2], "id": 7}', bare)).toBe(true);
    expect(evaluate('"id" in step', bare)).toBe(true);
    expect(evaluate('step | keys', bare)).toEqual(['id', 'rows']);
    expect(compileTemplate('{% for k in step %}{{ k }} {% endfor %}').text(scopeOf(bare))).toBe('id rows ');
  });

  it('stays tolerant behind default', () => {
    expect(evaluate('(step | default({})).data.id', bare)).toBe(7);
  });

  it('answers data and result for lists and scalars too', () => {
    expect(evaluate('step.data[0]', { step: tolerant([5]) })).toBe(5);
    expect(evaluate('step.result + 1', { step: tolerant(5) })).toBe(6);
    expect(evaluate('step + 1', { step: tolerant(5) })).toBe(6);
  });

  it('of nothing is nothing', () => {
    expect(evaluate('step.data is defined', { step: tolerant(null) })).toBe(false);
  });

  it('may sit inside other data', () => {
    expect(evaluate('steps.a.data.id', { steps: { a: bare.step } })).toBe(7);
    expect(evaluate('steps', { steps: { a: bare.step, b: 1 } })).toEqual({ a: { id: 7, rows: [1, 2] }, b: 1 });
  });
});

describe('a lazy map', () => {
  it('is asked only for the keys that are read', () => {
    const asked: string[] = [];
    const ctx = lazyMap(
      (key) => {
        asked.push(key);
        return key === 'a' ? 1 : undefined;
      },
      () => ['a'],
    );
    expect(evaluate('ctx.a', { ctx })).toBe(1);
    expect(asked).toEqual(['a']);
  });

  it('is not built to answer whether it is there', () => {
    const ctx = lazyMap(
      () => 1,
      () => {
        throw new Error('all keys were asked for');
      },
    );
    expect(evaluate('ctx is defined and ctx.a == 1', { ctx })).toBe(true);
  });

  it('can be tolerant', () => {
    const ctx = lazyMap(
      (key) => (key === 'a' ? 1 : undefined),
      () => ['a'],
    );
    expect(evaluate('[step.a, step.data.a, step.b]', { step: tolerant(ctx) })).toEqual([1, 1, null]);
  });

  it('is a plain map when it is used as data', () => {
    const ctx = lazyMap(
      () => 1,
      () => ['a', 'b'],
    );
    expect(evaluate('ctx', { ctx })).toEqual({ a: 1, b: 1 });
  });
});

describe('a word with synonyms', () => {
  const values = { output: { status: synonym('ok', ['success', 'completed', 'done']) } };

  it.each([
    ['output.status == "ok"', true],
    ['output.status == "success"', true],
    ['"Completed" == output.status', true],
    ['output.status != "done"', false],
    ['output.status == "error"', false],
    ['output.status != "error"', true],
    ['output.status in ["failed", "success"]', true],
    ['output.status not in ["failed"]', true],
    ['output.status in "success,failed"', true],
    ['output.status is eq "done"', true],
    ['output.status is in ["done"]', true],
    ['output.status | upper == "SUCCESS"', true],
    ['output.status | lower == "success"', true],
    ['output.status | default("x") == "done"', true],
    ['output.status is string', true],
    ['output.status is defined', true],
    ['output.status == 1', false],
    ['output.status == none', false],
    ['output.status', 'ok'],
    ['output.status ~ "!"', 'ok!'],
    ['output.status | length', 2],
    ['output.status | upper', 'OK'],
    ['{"a": 1, "ok": 2}[output.status]', 2],
    ['output', { status: 'ok' }],
    ['"" ~ output', '{"status":"ok"}'],
    ['[output.status]', ['ok']],
  ])('%s', (source, expected) => {
    expect(evaluate(source, values)).toEqual(expected);
  });

  it('decides conditions', () => {
    expect(compileCondition("output.status == 'success'").test(scopeOf(values))).toBe(true);
  });
});

describe('a scope', () => {
  it('asks its parent for what it does not have itself', () => {
    const scope = scopeOf({ a: 1, n: null }, scopeOf({ a: 2, b: 3, n: 4 }));
    expect(compileTemplate('{{ [a, b, n, c] }}').evaluate(scope)).toEqual([1, 3, null, null]);
  });
});

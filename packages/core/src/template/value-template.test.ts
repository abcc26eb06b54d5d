import { describe, expect, it } from 'vitest';
import { compileValue, scopeOf } from './index.js';

const scope = scopeOf({ n: 3, k: 'key', rows: [1, 2] });

describe('a value with templates inside', () => {
  it('renders strings at any depth and keeps their types', () => {
    const value = compileValue({ a: ['{{ n }}', { b: 'n={{ n }}' }], c: '{{ rows }}' });
    expect(value.render(scope)).toEqual({ a: [3, { b: 'n=3' }], c: [1, 2] });
  });

  it('renders map keys as text', () => {
    expect(compileValue({ '{{ k }}_{{ n }}': 1, '{{ n }}': 2 }).render(scope)).toEqual({ key_3: 1, '3': 2 });
  });

  it('never re-types what is not a template', () => {
    const literal = { a: '01234', b: '', c: 'true', d: '[1]', e: null, f: 10n };
    expect(compileValue(literal).render(scope)).toBe(literal);
  });

  it('renders nothing as null, not as the template', () => {
    expect(compileValue(['{{ missing }}', { a: '{{ missing }}' }]).render(scope)).toEqual([null, { a: null }]);
  });

  it('renders the string under a text key as text', () => {
    const value = compileValue(
      { command: '{{ rows }}', spec: { query: '{{ n }}' }, other: '{{ n }}' },
      {
        textKeys: new Set(['command', 'query']),
      },
    );
    expect(value.render(scope)).toEqual({ command: '[1,2]', spec: { query: '3' }, other: 3 });
  });

  it('collects the roots of all its templates', () => {
    expect([...compileValue({ '{{ a }}': ['{{ b.c }}', { d: 'x {{ e }}' }] }).roots].sort()).toEqual(['a', 'b', 'e']);
  });

  it('is constant exactly when nothing inside is a template', () => {
    expect(compileValue({ a: ['x', 1] }).constant).toBe(true);
    expect(compileValue({ a: ['{{ 1 }}'] }).constant).toBe(false);
    expect(compileValue({ '{{ k }}': 1 }).constant).toBe(false);
    expect(compileValue('x').constant).toBe(true);
  });

  it('says which field holds a template that does not compile', () => {
    expect(() => compileValue({ input: { items: [1, '{{ x | nope }}'] } })).toThrow(
      expect.objectContaining({ path: 'input.items[1]', line: 1, column: 8 }),
    );
  });

  it('says which field fails while rendering', () => {
    const value = compileValue({ a: { b: '{{ missing + 1 }}' } });
    expect(() => value.render(scope)).toThrow(expect.objectContaining({ path: 'a.b', line: 1, column: 12 }));
  });
});

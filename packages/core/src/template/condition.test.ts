import { describe, expect, it } from 'vitest';
import { compileCondition, scopeOf, TemplateError } from './index.js';

const holds = (source: string | boolean, x?: unknown) => compileCondition(source).test(scopeOf({ x }));

describe('a condition', () => {
  it.each([
    ['x > 2', 3, true],
    ['{{ x > 2 }}', 3, true],
    [' {{ x }} ', 0, false],
    ['x', [], false],
    ['x', {}, false],
    ['x', null, false],
    ['x', undefined, false],
    ['x', 0.5, true],
    ['x', 0n, false],
    ['x', 'anything', true],
    ['x', 'False', false],
    ['x', ' off ', false],
    ['x', '0', false],
    ['x', '0.0', false],
    ['x', 'none', false],
    ['x', '[]', false],
    ['not x', 'yes', false],
    ['{% if x %}true{% else %}false{% endif %}', 1, true],
    ['{% if x %}true{% else %}false{% endif %}', 0, false],
    ['{{ x }}{{ x }}', 0, true],
    ['{{ x }}{{ x }}', '', false],
  ])('%s with %o is %s', (source, x, expected) => {
    expect(holds(source, x)).toBe(expected);
  });

  it('may be a YAML boolean', () => {
    expect(holds(true)).toBe(true);
    expect(holds(false)).toBe(false);
  });

  it('knows its roots', () => {
    expect([...compileCondition('a.b and c > 1').roots].sort()).toEqual(['a', 'c']);
  });

  it('reports positions in the text the author wrote', () => {
    expect(() => compileCondition('x > > 1')).toThrow(expect.objectContaining({ offset: 4, line: 1, column: 5 }));
  });

  it('cannot be empty', () => {
    expect(() => compileCondition('')).toThrow(TemplateError);
  });
});

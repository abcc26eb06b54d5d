import { describe, expect, it } from 'vitest';
import { compileTemplate, scopeOf, TemplateError } from './index.js';

const values = { a: 5, no: false, l: [3, 1, 2], d: { x: 1, y: 'two' } };
const text = (source: string) => compileTemplate(source).text(scopeOf(values));

function cases(title: string, table: readonly (readonly [string, string])[]) {
  describe(title, () => {
    it.each(table)('%j', (source, expected) => {
      expect(text(source)).toBe(expected);
    });
  });
}

cases('if', [
  ['{% if a > 3 %}big{% elif a %}mid{% else %}small{% endif %}', 'big'],
  ['{% if no %}x{% elif a == 5 %}five{% else %}y{% endif %}', 'five'],
  ['{% if no %}x{% endif %}', ''],
]);

cases('for', [
  ['{% for x in l %}{{ x }},{% endfor %}', '3,1,2,'],
  ['{% for x in [] %}a{% else %}none{% endfor %}', 'none'],
  ['{% for x in missing %}a{% endfor %}', ''],
  ['{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}', 'x=1;y=two;'],
  ['{% for (k, v) in d | dictsort %}{{ k }}{% endfor %}', 'xy'],
  ['{% for k in d %}{{ k }}{% endfor %}', 'xy'],
  ['{% for c in "ab" %}{{ c }}.{% endfor %}', 'a.b.'],
  ['{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}', '1/2:3 2/2:2 '],
  ['{% for x in l if x > 9 %}a{% else %}none{% endfor %}', 'none'],
  [
    '{% for x in l %}{{ loop.first }}{{ loop.last }}{{ loop.index0 }}{{ loop.revindex }} {% endfor %}',
    'TrueFalse03 FalseFalse12 FalseTrue21 ',
  ],
  ['{% for x in l %}{{ loop.previtem }}-{{ loop.nextitem }} {% endfor %}', '-1 3-2 1- '],
  ['{% for x in l %}{{ loop.cycle("o", "e") }}{% endfor %}', 'oeo'],
  ['{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}', '1231 1232 1233 '],
  ['{% for x in 1, 2 %}{{ x }}{% endfor %}', '12'],
]);

cases('set', [
  ['{% set x = 3 %}{{ x + 1 }}', '4'],
  ['{% set p, q = 1, 2 %}{{ p }}{{ q }}', '12'],
  ['{% set x %}hi {{ a }}{% endset %}{{ x | upper }}', 'HI 5'],
  ['{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}[{{ x }}]', '312[1]'],
  ['{% for a in l %}{{ a }}{% endfor %}{{ a }}', '3125'],
  ['{% if a %}{% set q = 7 %}{% endif %}{{ q }}', '7'],
  ['{% if no %}{% set a = 7 %}{% endif %}{{ a }}', '5'],
  ['{% for i in range(3) %}{% if i == 1 %}{% set y = i %}{% endif %}{{ y }}.{% endfor %}', '.1..'],
  ['{% set ns = namespace(t=0) %}{% for i in l %}{% set ns.t = ns.t + i %}{% endfor %}{{ ns.t }}', '6'],
]);

cases('whitespace, comments and raw text', [
  ['  {%- if a -%}  hi  {%- endif -%}  end', 'hiend'],
  ['a {{- a -}} b', 'a5b'],
  ['a {#- c -#} b{{ "" }}', 'ab'],
  ['{# {{ a }} #}{{ a }}', '5'],
  ['{% raw %}{{ a }}{% endraw %}', '{{ a }}'],
  ['{%- raw -%} {{ a }} {%- endraw -%} x', '{{ a }}x'],
  ['{{ "}}" }} {{ "{{" }} {{ "%}" }}', '}} {{ %}'],
  ['{ {a} } {{ a }} }}', '{ {a} } 5 }}'],
]);

describe('what statements refuse', () => {
  it.each([
    ['{% for k, v in l %}{% endfor %}', 'expected a list of 2 to assign to k, v, not a number'],
    ['{% for k, v in [[1]] %}{% endfor %}', 'expected a list of 2 to assign to k, v, not a list of 1'],
    ['{% for x in a %}{% endfor %}', 'cannot iterate over a number'],
    ['{% set x = d %}{% set x.y = 1 %}', 'only fields of a namespace() can be set, not of a map'],
    ['{% for x in l recursive %}{% endfor %}', 'recursive loops are not supported'],
    ['{% raw %}{{ a }}', "'{% raw %}' is never closed"],
    ['{{ a }}{# open', "comment '{#' is never closed"],
  ])('%s', (source, message) => {
    expect(() => text(source)).toThrow(TemplateError);
    expect(() => text(source)).toThrow(message);
  });
});

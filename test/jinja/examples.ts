// Hand-written templates: every expression of ./expressions.ts twice, and every statement.
import type { Case } from './compare.js';
import { EXPRESSIONS } from './expressions.js';
import { CONTEXT } from './generate.js';

const TEXTS = [
  'plain',
  'plain line\n',
  'a {{ n }}\n',
  '{# note #}plain',
  '{# note #}{{ n }}',
  '{{ none }}|{{ missing }}|{{ yes }}|{{ 2.0 }}',
  '{{ xs }} and {{ user }}',
  '{% if n > 3 %}big{% elif n %}mid{% else %}small{% endif %}',
  '{% if missing %}a{% else %}b{% endif %}',
  '{% for x in xs %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ "," if not loop.last }}{% else %}none{% endfor %}',
  '{% for x in xs %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.cycle("o", "e") }} {% endfor %}',
  '{% for x in xs %}{{ loop.previtem | default("-") }}<{{ x }}>{{ loop.nextitem | default("-") }} {% endfor %}',
  '{% for k, v in counts.items() %}{{ k }}={{ v }};{% endfor %}',
  '{% for k, v in counts | dictsort %}{{ k }}{% endfor %}',
  '{% for k in counts %}{{ k }}{% endfor %}',
  '{% for x in [] %}a{% else %}none{% endfor %}',
  '{% for x in missing %}a{% else %}none{% endfor %}',
  '{% for r in rows if r.ok %}{{ loop.index }}{{ r.name }}{% endfor %}',
  '{% for g in rows | groupby("tag.k") %}{{ g.grouper }}:{{ g.list | length }} {% endfor %}',
  '{% for x in 1, 2 %}{{ x }}{% endfor %}',
  '{% for a in xs %}{% for b in nested %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}',
  '{% set x = 3 %}{{ x + 1 }}',
  '{% set p, q = 1, 2 %}{{ p }}{{ q }}',
  '{% set x %}hi {{ n }}{% endset %}{{ x | upper }}',
  '{% set x = 1 %}{% for i in xs %}{% set x = i %}{{ x }}{% endfor %}[{{ x }}]',
  '{% if yes %}{% set q = 7 %}{% endif %}{{ q }}',
  '{% set ns = namespace(t=0) %}{% for i in xs %}{% set ns.t = ns.t + i %}{% endfor %}{{ ns.t }}',
  '{% raw %}{{ n }}{% endraw %}',
  '  {%- if n -%}  hi  {%- endif -%}  end',
  'a {{- n -}} b',
  'a {#- c -#} b{{ "" }}',
  '{{ "}}" }} {{ "{{" }} {{ "%}" }}',
  'x\n{% if yes %}\ny\n{% endif %}\nz {{ n }}\n',
  '{{ user | tojson }} {{ "<&\'>" | tojson }}',
  '{% macro f(x) %}{{ x }}{% endmacro %}{{ f(1) }}',
  '{% with a = 1 %}{{ a }}{% endwith %}',
  '{% filter upper %}a{% endfilter %}',
  '{% for x in xs %}{% break %}{% endfor %}',
  '{{ n',
  '{% if n %}',
  '{{ n | nosuch }}',
  '{{ n is nosuch }}',
  '{{ nosuch() }}',
] as const;

export function handWritten(): Case[] {
  return [
    ...EXPRESSIONS.flatMap((expression): Case[] => [
      { template: `{{ ${expression} }}`, mode: 'value', context: CONTEXT },
      { template: `[{{ ${expression} }}]`, mode: 'text', context: CONTEXT },
    ]),
    ...TEXTS.map((template): Case => ({ template, mode: 'text', context: CONTEXT })),
  ];
}

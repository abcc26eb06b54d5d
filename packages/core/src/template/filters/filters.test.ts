import { describe, expect, it } from 'vitest';
import type { Json } from '../../json/types.js';
import { compileTemplate, scopeOf, TemplateError } from '../index.js';

const rows = [
  { id: 2, g: 'B', v: 10, n: { k: 'x' } },
  { id: 1, g: 'a', v: 20, n: { k: 'z' } },
  { id: 3, g: 'b', v: 30, n: { k: 'y' } },
];
const evaluate = (source: string) => compileTemplate(`{{ ${source} }}`).evaluate(scopeOf({ rows, l: [3, 1, 2] }));

function cases(title: string, table: readonly (readonly [string, Json])[]) {
  describe(title, () => {
    it.each(table)('%s', (source, expected) => {
      expect(evaluate(source)).toEqual(expected);
    });
  });
}

cases('text filters', [
  ['"a" | upper', 'A'],
  ['true | string | lower', 'true'],
  ['"hELLO" | capitalize', 'Hello'],
  ['"foo-bar it\'s" | title', "Foo-Bar It's"],
  ['" x " | trim', 'x'],
  ['"xxaxx" | trim("x")', 'a'],
  ['"aaa" | replace("a", "b", 2)', 'bba'],
  ['"ab" | replace("", "-")', '-a-b-'],
  ['"a b  c" | split', ['a', 'b', '', 'c']],
  ['"a,b" | split(",")', ['a', 'b']],
  ['"" | split(",")', []],
  ['"a b c" | wordcount', 3],
  ['"it\'s - well_known" | wordcount', 3],
  ['" a  b  c d ".rsplit(none, 2)', ['a  b', 'c', 'd']],
  ['"ab" | center(5)', '  ab '],
  ['"abc" | center(6)', ' abc  '],
  ['"%e" | format(255)', '2.550000e+02'],
  ['"foo-bar it\'s 3rd".title()', "Foo-Bar It'S 3Rd"],
  ['"hello world foo bar" | truncate(10)', 'hello...'],
  ['"hello world" | truncate(8, true, end="…", leeway=0)', 'hello w…'],
  ['"a\nb\n\nc" | indent', 'a\n    b\n\n    c'],
  ['"a\nb" | indent(2, first=true)', '  a\n  b'],
  ['"%05.1f%%" | format(3.14159)', '003.1%'],
  ['"a b&c/d" | urlencode', 'a%20b%26c/d'],
  ['{"a": 1, "b": "x y"} | urlencode', 'a=1&b=x+y'],
  ['"<a>" | escape', '&lt;a&gt;'],
  ['"a" | safe', 'a'],
  ['"😀é" | length', 2],
  ['"é" | b64encode', 'w6k='],
  ['"w6k=" | b64decode', 'é'],
  ['"😀 text" | b64encode | b64decode', '😀 text'],
]);

cases('list filters', [
  ['l | first', 3],
  ['l | last', 2],
  ['[] | first', null],
  ['"abc" | list', ['a', 'b', 'c']],
  ['{"a": 1} | list', ['a']],
  ['l | reverse', [2, 1, 3]],
  ['"abc" | reverse', 'cba'],
  ['l | sort', [1, 2, 3]],
  ['l | sort(reverse=true)', [3, 2, 1]],
  ['["b", "A", "c"] | sort', ['A', 'b', 'c']],
  ['["b", "A", "a"] | sort(case_sensitive=true)', ['A', 'a', 'b']],
  ['[2, none, 1] | sort', [null, 1, 2]],
  ['rows | sort(attribute="n.k") | map(attribute="id")', [2, 3, 1]],
  ['rows | sort(reverse=true, attribute="g,id") | map(attribute="id")', [3, 2, 1]],
  ['l | min', 1],
  ['l | max', 3],
  ['[] | max', null],
  ['(rows | max(attribute="v")).id', 3],
  ['l | sum', 6],
  ['rows | sum(attribute="v")', 60],
  ['l | sum(start=10)', 16],
  ['["a", "A", "b"] | unique', ['a', 'b']],
  ['[[1], [1], [2]] | unique', [[1], [2]]],
  ['rows | groupby("g") | map("first")', ['a', 'B']],
  ['(rows | groupby("g") | last).list | map(attribute="id")', [2, 3]],
  ['[1, 2, 3] | batch(2)', [[1, 2], [3]]],
  [
    '[1, 2, 3] | batch(2, 0)',
    [
      [1, 2],
      [3, 0],
    ],
  ],
  ['[1, 2, 3, 4] | slice(3)', [[1, 2], [3], [4]]],
  [
    '[1, 2, 3, 4] | slice(3, 0)',
    [
      [1, 2],
      [3, 0],
      [4, 0],
    ],
  ],
  ['l | join("-")', '3-1-2'],
  ['rows | join(",", attribute="id")', '2,1,3'],
  ['rows | join(attribute="id")', '213'],
  ['l | join(sep="+")', '3+1+2'],
  ['l | map("string")', ['3', '1', '2']],
  ['["a-b"] | map("replace", "-", "+")', ['a+b']],
  ['rows | map(attribute="q", default=0)', [0, 0, 0]],
  ['l | select("odd")', [3, 1]],
  ['[0, 1, ""] | select', [1]],
  ['l | reject("gt", 1)', [1]],
  ['l | select(">=", 2)', [3, 2]],
  ['rows | selectattr("v", "gt", 10) | map(attribute="id")', [1, 3]],
  ['rows | rejectattr("g", "in", ["a"]) | length', 2],
  ['rows | selectattr("n.k", "eq", "x") | length', 1],
]);

cases('map filters', [
  ['{"a": 1} | keys', ['a']],
  ['{"a": 1} | values', [1]],
  ['{"a": 1} | items', [['a', 1]]],
  ['{"a": 1} | get("a")', 1],
  ['{"a": 1} | get("b", 2)', 2],
  [
    '{"b": 1, "A": 2} | dictsort',
    [
      ['A', 2],
      ['b', 1],
    ],
  ],
  ['{"b": 1, "A": 2} | dictsort(by="value", reverse=true) | first', ['A', 2]],
  ['{"a": 1} | length', 1],
  ['[1, 2] | count', 2],
]);

cases('default', [
  ['missing | default("x")', 'x'],
  ['"" | default(absent, true)', null],
  ['dict([["a", 1], [2, "b"]], c=3)', { a: 1, '2': 'b', c: 3 }],
  ['missing | default', ''],
  ['"" | default("x")', ''],
  ['"" | default("x", true)', 'x'],
  ['0 | d(1, boolean=true)', 1],
  ['missing | default(value="x")', 'x'],
  ['missing | default(default_value="x")', 'x'],
  ['missing | default([])', []],
  ['missing | default(none)', null],
  ['missing | default', ''],
  ['"" | default(boolean=true)', ''],
  ['false | default(true)', false],
]);

cases('numbers', [
  ['"12" | int', 12],
  ['" -12.7 " | int', -12],
  ['"abc" | int', 0],
  ['"12abc" | int(5)', 5],
  ['"1f" | int(0, 16)', 31],
  ['"0x1f" | int(base=16)', 31],
  ['-3.99 | int', -3],
  ['true | int', 1],
  ['[] | int(7)', 7],
  ['"1e3" | int', 1000],
  ['"1.5" | float', 1.5],
  ['"x" | float(2.5)', 2.5],
  ['"nan" | float', 0],
  ['-2 | abs', 2],
  ['2.5 | round', 2],
  ['3.5 | round', 4],
  ['-2.5 | round', -2],
  ['2.675 | round(2)', 2.67],
  ['0.125 | round(2)', 0.12],
  ['1250 | round(-2)', 1200],
  ['2.31 | round(1, "ceil")', 2.4],
  ['2.39 | round(precision=1, method="floor")', 2.3],
  ['"off" | bool', false],
  ['"yes" | bool', true],
  ['[] | bool', false],
]);

cases('JSON', [
  ['"" ~ ({"a": [1, none, true]} | tojson)', '{"a":[1,null,true]}'],
  ['"" ~ ({"a": [1]} | tojson(indent=2))', '{\n  "a": [\n    1\n  ]\n}'],
  ['"" ~ (missing | tojson)', 'null'],
  ['"" ~ (1.5 | tojson)', '1.5'],
  ['"[1, {\\"a\\": null}]" | fromjson', [1, { a: null }]],
  ['missing | fromjson', null],
]);

describe('what filters refuse', () => {
  it.each([
    ['"{" | fromjson', 'the text is not JSON'],
    ['"%%%" | b64decode', 'b64decode needs the Base64 form of UTF-8 text'],
    ['"/w==" | b64decode', 'b64decode needs the Base64 form of UTF-8 text'],
    ['["a"] | sum', 'sum needs a number, not text'],
    ['[1, "a"] | sort', 'cannot order'],
    ['"x" | abs', 'abs needs a number'],
    ['1 | round(1, "up")', "round knows the methods common, ceil and floor, not 'up'"],
    ['"%d" | format("x")', "the format '%d' needs a number, not text"],
    ['"%s %s" | format(1)', 'the format names more values than it is given'],
    ['[1] | batch("x")', "the argument 'linecount' must be a whole number, not text"],
    ['[1] | map', "map needs the name of a filter or 'attribute='"],
  ])('%s', (source, message) => {
    expect(() => evaluate(source)).toThrow(TemplateError);
    expect(() => evaluate(source)).toThrow(message);
  });
});

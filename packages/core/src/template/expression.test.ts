import { describe, expect, it } from 'vitest';
import type { Json } from '../json/types.js';
import { compileTemplate, scopeOf, TemplateError } from './index.js';

const values = {
  a: 5,
  b: -3,
  s: 'Hello',
  l: [3, 1, 2],
  d: { x: 1, items: [10], z: { w: [10, 20] } },
  big: 1152921504606846977n,
  nothing: null,
};
const evaluate = (source: string) => compileTemplate(`{{ ${source} }}`).evaluate(scopeOf(values));

function cases(title: string, table: readonly (readonly [string, Json])[]) {
  describe(title, () => {
    it.each(table)('%s', (source, expected) => {
      expect(evaluate(source)).toEqual(expected);
    });
  });
}

function refused(title: string, table: readonly (readonly [string, string])[]) {
  describe(title, () => {
    it.each(table)('%s', (source, message) => {
      expect(() => evaluate(source)).toThrow(TemplateError);
      expect(() => evaluate(source)).toThrow(message);
    });
  });
}

cases('precedence', [
  ['1 + 2 * 3', 7],
  ['2 ** 3 ** 2', 64],
  ['-2 ** 2', 4],
  ['-a | abs', 5],
  ['1 ~ 2 * 3', '16'],
  ['not a == 5', false],
  ['not a and b', false],
  ['a - -b', 2],
  ['a if false else b if false else "c"', 'c'],
  ['l | length > 2 and not false', true],
  ['not 3 in l', false],
  ['a is odd and b is odd', true],
  ['7 % 3 * 2', 2],
]);

cases('arithmetic as in Python', [
  ['-7 // 2', -4],
  ['1 // 0.1', 9],
  ['7 // 7 ** -2', 343],
  ['7 // -2', -4],
  ['-7 % 3', 2],
  ['7 % -3', -2],
  ['5 / 2', 2.5],
  ['4 / 2', 2],
  ['2 ** -1', 0.5],
  ['0 ** 2.5', 0],
  ['1 ** 10 ** 20', 1],
  ['"ab" * 2', 'abab'],
  ['2 * [1]', [1, 1]],
  ['l + [9]', [3, 1, 2, 9]],
  ['"a" + "b"', 'ab'],
  ['true + 1', 2],
  ['"%s-%03d" % ["x", 7]', 'x-007'],
]);

cases('integers beyond 2^53', [
  ['9007199254740993', 9007199254740993n],
  ['big + 1', 1152921504606846978n],
  ['big - big', 0],
  ['big // 2', 576460752303423488n],
  ['9007199254740991 + 2', 9007199254740993n],
  ['2 ** 64', 18446744073709551616n],
  ['-big', -1152921504606846977n],
  ['big == 1152921504606846977', true],
  ['big == "1152921504606846977"', false],
  ['big > a', true],
  ['big in [1152921504606846977]', true],
  ['big | string', '1152921504606846977'],
  ['"1152921504606846977" | int', 1152921504606846977n],
  ['"{\\"id\\": 1152921504606846977}" | fromjson', { id: 1152921504606846977n }],
  ['(big | tojson) ~ ""', '1152921504606846977'],
]);

cases('comparison', [
  ['1 < 2 < 3', true],
  ['1 < 3 < 2', false],
  ['1 == 1.0', true],
  ['true == 1', true],
  ['"1" == 1', false],
  ['[1, {"a": [2]}] == [1, {"a": [2]}]', true],
  ['{"a": 1, "b": 2} == {"b": 2, "a": 1}', true],
  ['[1, 2] < [1, 3]', true],
  ['"a" < "b"', true],
  ['"ell" in s', true],
  ['"x" in d', true],
  ['1 in d', false],
  ['4 not in l', true],
]);

cases('and, or and truthiness', [
  ['"" or "x"', 'x'],
  ['0 or []', []],
  ['a and b', -3],
  ['"" and missing.x', ''],
  ['not []', true],
  ['not {}', true],
  ['not 0.0', true],
  ['not "0"', false],
]);

cases('null and undefined alike', [
  ['nothing is defined', false],
  ['missing is none', true],
  ['missing == none', true],
  ['nothing == missing', true],
  ['missing < 1', false],
  ['missing >= 1', false],
  ['missing | default("x")', 'x'],
  ['nothing | default("x")', 'x'],
  ['missing | length', 0],
  ['nothing | int', 0],
  ['missing | upper', ''],
  ['missing | map("upper") | list', []],
  ['missing | first', null],
  ['1 in missing', false],
  ['nothing.a.b[0].c', null],
  ['missing.get("x")', null],
  ['missing[1:2]', null],
  ['[missing, nothing]', [null, null]],
  ['{"a": missing}', { a: null }],
]);

refused('arithmetic on nothing', [
  ['a + missing', "'missing' is undefined or null, so '+' does not work"],
  ['d.q.r * 2', "'d.q.r' is undefined or null"],
  ['-missing', "'missing' is undefined or null"],
]);

refused('values of the wrong kind', [
  ['s + 1', "'+' does not work on text and a number; join text with '~'"],
  ['s < 1', "cannot order text and a number; convert the text with '| int'"],
  ['d < d', 'cannot order a map and a map'],
  ['1 in 5', "'in' needs a list, a map or text, not a number"],
  ['1 in s', 'cannot look for a number in text'],
  ['1 / 0', 'division by zero'],
  ['1 % 0', 'division by zero'],
  ['0 ** -1', 'zero cannot be raised to a negative power'],
  ['(-8) ** 0.5', 'a negative number has no fractional power'],
  ['1e308 * 10', 'the number is too large'],
  ['a[1:2]', 'cannot take a slice of a number'],
  ['l[::0]', 'the step of a slice cannot be zero'],
  ['5 | first', 'cannot iterate over a number'],
  ['5.upper()', 'a number has no method'],
]);

cases('attributes, subscripts and slices', [
  ['d.items', [10]],
  ['d.z.w[-1]', 20],
  ['d["z"]["w"].0', 10],
  ['l[10]', null],
  ['l[-4]', null],
  ['l["0"]', null],
  ['{1: "a"}[1]', 'a'],
  ['"héllo"[1]', 'é'],
  ['"a😀b"[1]', '😀'],
  ['"a😀b"[-1]', 'b'],
  ['"a😀b".find("b")', 2],
  ['l[1:]', [1, 2]],
  ['l[:-1]', [3, 1]],
  ['l[::-1]', [2, 1, 3]],
  ['s[1:4]', 'ell'],
  ['s[::-2]', 'olH'],
]);

cases('literals', [
  ["'it\\'s'", "it's"],
  ["'\\x41\\u00e9\\n'", 'Aé\n'],
  ["'\\d'", '\\d'],
  ["'a' 'b'", 'ab'],
  ['0x1F + 0b11', 34],
  ['1_000', 1000],
  ['1.5e2', 150],
  ['()', []],
  ['(1,)', [1]],
  ['{"a": {"b": {"c": 1}}}.a.b.c', 1],
  ['[1, 2, ]', [1, 2]],
  ['None', null],
  ['True', true],
]);

cases('methods', [
  ['d.get("x")', 1],
  ['d.get("q", 7)', 7],
  ['d.keys()', ['x', 'items', 'z']],
  ['{"a": 1}.items()', [['a', 1]]],
  ['{"a": 1}.values()', [1]],
  ['s.upper()', 'HELLO'],
  ['" a ".strip()', 'a'],
  ['"xxaxx".lstrip("x")', 'axx'],
  ['"a  b c".split()', ['a', 'b', 'c']],
  ['"a,b,c".split(",", 1)', ['a', 'b,c']],
  ['"a b c".rsplit(" ", 1)', ['a b', 'c']],
  ['s.replace("l", "L", 1)', 'HeLlo'],
  ['s.startswith("He")', true],
  ['s.endswith(["x", "o"])', true],
  ['"-".join(l)', '3-1-2'],
  ['"7".zfill(3)', '007'],
  ['l.index(2)', 2],
  ['[1, 1, 2].count(1)', 2],
  ['s.count("l")', 2],
  ['"12".isdigit()', true],
]);

cases('functions', [
  ['range(3)', [0, 1, 2]],
  ['range(5, 0, -2)', [5, 3, 1]],
  ['range(3, 0)', []],
  ['dict({"a": 1}, b=2)', { a: 1, b: 2 }],
]);

cases('tests', [
  ['a is number', true],
  ['true is number', false],
  ['a is integer', true],
  ['1.5 is float', true],
  ['true is boolean', true],
  ['s is string', true],
  ['l is sequence', true],
  ['d is mapping', true],
  ['d is iterable', true],
  ['a is iterable', false],
  ['a is divisibleby 5', true],
  ['a is divisibleby(2)', false],
  ['2 is even', true],
  ['2 is not odd', true],
  ['a is in [1, 5]', true],
  ['a is eq 5', true],
  ['a is gt(3)', true],
  ['s is startingwith "He"', true],
  ['s is endingwith("x")', false],
  ['false is false', true],
  ['1 is true', false],
  ['missing is undefined', true],
]);

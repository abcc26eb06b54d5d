import { expect, it } from 'vitest';
import { parseExactJson } from './exact-json.js';
import { pythonJson } from './python-json.js';

// Each pair as Python 3.11 gives it.
it.each([
  ['0', '0'],
  ['-0', '0'],
  ['-0.0', '-0.0'],
  ['1.0', '1.0'],
  ['3e2', '300.0'],
  ['0.0001', '0.0001'],
  ['0.00001', '1e-05'],
  ['1.5e-7', '1.5e-07'],
  ['1e15', '1000000000000000.0'],
  ['1e16', '1e+16'],
  ['1e100', '1e+100'],
  ['9007199254740993', '9007199254740993'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['"é😀\u007f/\\n\\u0001"', '"\\u00e9\\ud83d\\ude00\\u007f/\\n\\u0001"'],
  ['{"\uffff":1,"😀":[true,null],"10":2,"9":{}}', '{"10":2,"9":{},"\\uffff":1,"\\ud83d\\ude00":[true,null]}'],
])('%s is written %s', (text, expected) => {
  expect(pythonJson(parseExactJson(text))).toBe(expected);
});

// Test results as JUnit XML, which every CI server reads: a suite for each file, a case for each test.
import type { FileOutcome, TestOutcome } from './run-file.js';

export function junitXml(files: readonly FileOutcome[]): string {
  const suites = files.map(({ file, tests }) => {
    const failures = tests.filter(({ passed }) => !passed).length;
    const attributes = `name="${xml(file)}" tests="${tests.length}" failures="${failures}" time="${seconds(tests)}"`;
    return `  <testsuite ${attributes}>\n${tests.map((test) => testCase(file, test)).join('')}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`;
}

function testCase(file: string, test: TestOutcome): string {
  const head = `    <testcase classname="${xml(file)}" name="${xml(test.name)}" time="${seconds([test])}" line="${test.at.line}"`;
  if (test.passed) return `${head}/>\n`;
  const checks = test.mismatches.map(({ check }) => check).join(', ');
  const text = test.mismatches
    .map(({ check, lines }) => [check, ...lines.map(({ sign, text: line }) => `  ${sign} ${line}`)].join('\n'))
    .join('\n');
  return `${head}>\n      <failure message="${xml(checks)}">${xml(text)}</failure>\n    </testcase>\n`;
}

function seconds(tests: readonly TestOutcome[]): string {
  return (tests.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000).toFixed(4);
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Control characters have no place in XML, not even as entities. */
function xml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '�')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

// JSON on stdout: compact for `--json` (one document, for programs), indented for people. Integers beyond 2^53 keep every digit.
import { isObject, type Json, stringifyJson } from '@noetl/core';

/** A wire value as plain JSON: interfaces carry no index signature, so the type system cannot see it by itself. */
export function printJson(value: unknown): void {
  process.stdout.write(`${stringifyJson(value)}\n`);
}

export function prettyJson(value: Json, indent = ''): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((item) => inner + prettyJson(item, inner)).join(',\n')}\n${indent}]`;
  }
  if (isObject(value)) {
    const entries = Object.entries(value);
    if (entries.length === 0) return '{}';
    const lines = entries.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${prettyJson(item, inner)}`);
    return `{\n${lines.join(',\n')}\n${indent}}`;
  }
  return stringifyJson(value);
}

// Words for writing the JSON Schema of playbooks. They follow how fields.ts reads: a key without a value counts as absent, a
// number or boolean is taken as text where text is meant, choices may be written in any case.
import type { Json, JsonObject } from '../json/types.js';

export type Schema = JsonObject;

/** What an author reads in the editor. */
export function about(description: string, more: Schema = {}): Schema {
  return { description, ...more };
}

export function text(description: string): Schema {
  return { type: ['string', 'number', 'boolean', 'null'], description };
}

/** Text that must be there. */
export function requiredText(description: string, more: Schema = {}): Schema {
  return { type: ['string', 'number', 'boolean'], description, minLength: 1, ...more };
}

export function flag(description: string, byDefault: boolean): Schema {
  return { type: ['boolean', 'null'], description, default: byDefault };
}

export function map(description: string, properties: Record<string, Schema> = {}, more: Schema = {}): Schema {
  return { type: ['object', 'null'], description, properties, ...more };
}

export function list(description: string, items: Schema, more: Schema = {}): Schema {
  return { type: ['array', 'null'], description, items, ...more };
}

export function ref(name: string): Schema {
  return { $ref: `#/$defs/${name}` };
}

/** The key is written and has a value. */
export function present(key: string): Schema {
  return { required: [key], properties: { [key]: { not: { type: 'null' } } } };
}

/** One of a few words in any case; editors offer the usual spelling. */
export function choice(description: string, words: readonly string[], more: Schema = {}): Schema {
  const anyCase = words.map((word) => word.replace(/[a-z]/gi, (c) => `[${c.toUpperCase()}${c.toLowerCase()}]`));
  return {
    description,
    anyOf: [{ enum: [...words] }, { type: 'string', pattern: `^(${anyCase.join('|')})$` }, { type: 'null' }],
    ...more,
  };
}

/** Words that are offered, where another one is no error. */
export function suggestion(description: string, words: readonly string[], more: Schema = {}): Schema {
  return { description, anyOf: [{ enum: [...words] }, text('Any other text')], ...more };
}

/** Words that are offered for a value that the parser does not look at. */
export function offer(description: string, words: readonly string[], more: Schema = {}): Schema {
  return { description, anyOf: [{ enum: [...words] }, {}], ...more };
}

/** Seconds: a number, `"1.5"`, `"30s"`, `"5m"`, or a template. */
export function seconds(description: string, more: Schema = {}): Schema {
  return {
    description: `${description} Seconds as a number, a duration such as \`"30s"\` or \`"5m"\`, or a template.`,
    type: ['number', 'string', 'null'],
    minimum: 0,
    pattern: `^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)?\\s*$|${TEMPLATE}`,
    ...more,
  };
}

/** A whole number of at least 1, or a template that yields one. */
export function count(description: string, more: Schema = {}): Schema {
  return {
    description,
    type: ['integer', 'string', 'null'],
    minimum: 1,
    pattern: `^\\s*\\d+\\s*$|${TEMPLATE}`,
    ...more,
  };
}

const TEMPLATE = '\\{\\{|\\{%';

export function example(...values: Json[]): Schema {
  return { examples: values };
}

/** A JSON Schema conditional, and the one place that spells its keyword: an object with `then` looks like a promise to a linter. */
export function implies(condition: Schema, consequence: Schema): Schema {
  return { if: condition, ...thenKey(consequence) };
}

/** `{then: value}`, which is also a field of playbooks. */
export function thenKey(value: Schema): Record<string, Schema> {
  const key = 'then';
  return { [key]: value };
}

// Templates of a task list, compiled once per command. A template that does not parse is the author's mistake and is
// found before anything runs.
import {
  compileTemplate,
  compileValue,
  isObject,
  isTemplate,
  type Json,
  type JsonObject,
  type Scope,
  TEXT_FIELDS,
  type Template,
  TemplateError,
  type ValueTemplate,
} from '@noetl/core';
import { ToolError } from '../tools/errors.js';

export interface Assignment {
  /** As written: `ctx.total`, `iter.page`, `total`. */
  readonly key: string;
  readonly value: ValueTemplate;
}

export interface ConfigTemplate {
  render(scope: Scope): JsonObject;
}

/** Field by field, because `code` is text only as a field of the tool: inside a request body it may well be a number. */
export function compileConfig(config: JsonObject): ConfigTemplate {
  const fields = Object.entries(config).map(([key, value]) =>
    compileValue({ [key]: value }, typeof value === 'string' ? { textKeys: TEXT_FIELDS } : {}),
  );
  return {
    render: (scope) =>
      Object.fromEntries(
        fields.flatMap((field) => {
          const rendered = field.render(scope);
          return isObject(rendered) ? Object.entries(rendered) : [];
        }),
      ),
  };
}

export function compileAssignments(set: Json | undefined): Assignment[] {
  if (!isObject(set)) return [];
  return Object.entries(set).map(([key, value]) => ({ key, value: compileValue(value) }));
}

/** Undefined when the doubled braces belong to the script's own language. */
export function compileCode(source: string): Template | undefined {
  if (!isTemplate(source)) return undefined;
  try {
    return compileTemplate(source);
  } catch {
    return undefined;
  }
}

export function templateFailure(error: TemplateError, label: string): ToolError {
  const where = error.path === undefined ? '' : `${error.path}: `;
  return new ToolError(`Template error: task '${label}': ${where}${error.message}`, {
    kind: 'transform',
    retryable: false,
    code: 'TEMPLATE_ERROR',
    source: 'template',
  });
}

/** Runs `work`; a complaint of a template inside names the task. */
export function namingTask<T>(label: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError ? templateFailure(error, label) : error;
  }
}

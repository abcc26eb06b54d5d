// The value of a step that is a list of tools: the result of each task under its label, the fields of all of them beside the labels (a
// later task wins), `results` for those who want to be explicit, and `_prev` for the last one.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';

export const PIPELINE = 'task_sequence';

export function pipelineValue(data: Json): Json {
  if (!isObject(data)) return data;
  const { _pipeline, _context_updates, ...labelled } = data;
  void _context_updates;
  // Only a result that says it comes from a list is taken apart: a user's own object of objects stays as it is.
  if (!Array.isArray(_pipeline)) return labelled;
  const order = _pipeline.filter((label) => typeof label === 'string' && Object.hasOwn(labelled, label)) as string[];
  // From entries, not by assignment: a task or a field may be called `__proto__`.
  const results: JsonObject = Object.fromEntries(order.map((label) => [label, labelled[label] ?? null]));
  const fields: JsonObject = Object.fromEntries(
    order.flatMap((label) => (isObject(labelled[label]) ? Object.entries(labelled[label]) : [])),
  );
  return {
    ...fields,
    ...labelled,
    _prev: labelled[order.at(-1) ?? ''] ?? null,
    results: Object.hasOwn(fields, 'results') ? (fields.results ?? null) : results,
  };
}

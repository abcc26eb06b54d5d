// The value of a step that is a list of tools: the result of each task under its label, the fields of all of them beside the labels (a
// later task wins), and `results` for those who want to be explicit.
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
  const fields: JsonObject = {};
  const results: JsonObject = {};
  for (const label of order) {
    const result = labelled[label] ?? null;
    results[label] = result;
    if (isObject(result)) Object.assign(fields, result);
  }
  return { ...fields, ...labelled, results: Object.hasOwn(fields, 'results') ? (fields.results ?? null) : results };
}

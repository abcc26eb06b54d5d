// The address of a stored result, and the value that templates see behind it. Results are stored as the tool returned them; what a list of
// tools looks like to later steps is made when they are read, so that nothing is stored twice.
import { type Id, parseId } from '../ids/index.js';
import { isObject } from '../json/index.js';
import type { Json } from '../json/types.js';
import { pipelineValue } from './pipeline-value.js';

export interface ResultAddress {
  readonly executionId: Id;
  /** Usually the step; may hold slashes. */
  readonly name: string;
  readonly resultId: Id;
}

const REF = /^noetl:\/\/execution\/([^/]+)\/result\/(.+)\/([^/]+)$/s;

export function formatRef({ executionId, name, resultId }: ResultAddress): string {
  return `noetl://execution/${executionId}/result/${name}/${resultId}`;
}

export function parseRef(ref: string): ResultAddress | undefined {
  const [, execution, name, result] = REF.exec(ref) ?? [];
  const executionId = parseId(execution);
  const resultId = parseId(result);
  return executionId === undefined || resultId === undefined || name === undefined
    ? undefined
    : { executionId, name, resultId };
}

/** A list of tools is stored with its `_pipeline`, the order of its tasks. */
export function valueOfStored(stored: Json): Json {
  return isObject(stored) && Array.isArray(stored._pipeline) ? pipelineValue(stored) : stored;
}

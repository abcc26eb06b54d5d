// The tools of this worker, by kind. Another kind is one more file here and one more line in `builtinTools`.
import { createTaskSequenceTool, type TaskSequenceOptions } from '../pipeline/index.js';
import { artifactTool } from './artifact.js';
import { createDuckdbTool, type DuckdbOptions } from './duckdb.js';
import { createHttpTool, type HttpOptions } from './http.js';
import { createNatsTool, type NatsOptions } from './nats.js';
import { noopTool } from './noop.js';
import { createPlaybookTool, type PlaybookOptions } from './playbook.js';
import { createPostgresTool, type PostgresOptions } from './postgres.js';
import { createPythonTool, type PythonOptions } from './python.js';
import { shellTool } from './shell.js';
import type { AnyTool } from './tool.js';

export type ToolRegistry = ReadonlyMap<string, AnyTool>;

export interface BuiltinToolOptions {
  readonly http?: HttpOptions;
  readonly python?: PythonOptions;
  readonly playbook?: PlaybookOptions;
  readonly postgres?: PostgresOptions;
  readonly duckdb?: DuckdbOptions;
  readonly nats?: NatsOptions;
  readonly taskSequence?: TaskSequenceOptions;
}

export function builtinTools(options: BuiltinToolOptions = {}): AnyTool[] {
  return [
    noopTool,
    shellTool,
    createPythonTool(options.python),
    createHttpTool(options.http),
    createPostgresTool(options.postgres),
    createDuckdbTool(options.duckdb),
    createNatsTool(options.nats),
    artifactTool,
    createPlaybookTool(options.playbook),
    createTaskSequenceTool(options.taskSequence),
  ];
}

export function toolRegistry(tools: Iterable<AnyTool>): ToolRegistry {
  return new Map([...tools].map((tool) => [tool.kind, tool]));
}

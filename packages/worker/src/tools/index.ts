// The tools of this worker, by kind. Another kind is one more file here and one more line in `builtinTools`.
import { createTaskSequenceTool } from '../pipeline/index.js';
import { createHttpTool, type HttpOptions } from './http.js';
import { noopTool } from './noop.js';
import { createPythonTool, type PythonOptions } from './python.js';
import { shellTool } from './shell.js';
import type { Tool } from './tool.js';

export type ToolRegistry = ReadonlyMap<string, Tool>;

export interface BuiltinToolOptions {
  readonly http?: HttpOptions;
  readonly python?: PythonOptions;
}

export function builtinTools(options: BuiltinToolOptions = {}): Tool[] {
  return [
    noopTool,
    shellTool,
    createPythonTool(options.python),
    createHttpTool(options.http),
    createTaskSequenceTool(),
  ];
}

export function toolRegistry(tools: Iterable<Tool>): ToolRegistry {
  return new Map([...tools].map((tool) => [tool.kind, tool]));
}

// A tool that runs until the test says how it ends, so that a test decides the order in which commands finish.
import type { Tool, ToolCall, ToolResult } from './tools/tool.js';

export interface ManualTool extends Tool {
  readonly running: ReadonlyMap<string, ToolCall>;
  readonly started: readonly string[];
  end(id: string, result?: ToolResult): void;
  fail(id: string, error: unknown): void;
  /** Resolves when the command has started. */
  start(id: string): Promise<ToolCall>;
}

export function manualTool(options: { ignoresAbort?: boolean } = {}): ManualTool {
  const running = new Map<string, ToolCall>();
  const started: string[] = [];
  const settle = new Map<string, { resolve(result: ToolResult): void; reject(error: unknown): void }>();
  const waiting: { id: string; resolve(call: ToolCall): void }[] = [];
  const take = (id: string): { resolve(result: ToolResult): void; reject(error: unknown): void } => {
    const one = settle.get(id);
    if (one === undefined) throw new Error(`${id} is not running`);
    settle.delete(id);
    running.delete(id);
    return one;
  };
  return {
    kind: 'test',
    running,
    started,
    end: (id, result = { status: 'success', data: id }) => take(id).resolve(result),
    fail: (id, error) => take(id).reject(error),
    start(id) {
      const call = running.get(id);
      return call === undefined ? new Promise((resolve) => waiting.push({ id, resolve })) : Promise.resolve(call);
    },
    run(call) {
      const id = call.commandId;
      running.set(id, call);
      started.push(id);
      for (const waiter of waiting.filter((one) => one.id === id)) waiter.resolve(call);
      return new Promise((resolve, reject) => {
        settle.set(id, { resolve, reject });
        if (options.ignoresAbort === true) return;
        call.signal.addEventListener('abort', () => {
          if (running.get(id) !== call) return;
          running.delete(id);
          settle.delete(id);
          reject(call.signal.reason);
        });
      });
    },
  };
}

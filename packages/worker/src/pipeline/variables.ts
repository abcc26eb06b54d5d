// What the tasks of one sequence know: what the command brought, what earlier tasks answered, what `set` wrote. Values are
// data: nothing that is stored here is ever rendered again.
import { CLOCK_ROOT, isObject, type Json, type JsonObject, lazyMap, type Scope, scopeOf, tolerant } from '@noetl/core';
import type { ToolCall } from '../tools/tool.js';

export interface Variables {
  /** Locals hide everything else. */
  scope(locals: Record<string, unknown>): Scope;
  /** A task has ended: its data under its label, and as `_prev` when it succeeded. */
  record(label: string, data: Json, succeeded: boolean): void;
  /** `ctx.a.b` builds nested objects in that scope; so do `iter.` and `step.`; any other key is a variable of the sequence. */
  assign(key: string, value: Json): void;
  results(): JsonObject;
  /** Labels in the order the tasks last finished. */
  finished(): string[];
  /** What the execution's context shall keep: every `ctx.` and bare assignment, by key as written. */
  updates(): JsonObject;
  /** Everything as plain data, for a script that asks for its whole `context`. */
  plain(): JsonObject;
}

export const SCOPES = ['ctx', 'iter', 'step'] as const;
export type ScopeName = (typeof SCOPES)[number];

/** Roots that are not step values: what they do not have is not looked for elsewhere. */
const PLAIN_ROOTS: ReadonlySet<string> = new Set([
  'workload',
  'iter',
  'loop',
  'job',
  'env',
  'keychain',
  'event',
  'steps',
  'step',
]);

/** Everything that the tasks have left so far; it outlives the worker that runs them. */
export interface Memory {
  /** Data of the tasks, in the order they last finished. */
  readonly labelled: Map<string, Json>;
  readonly named: Map<string, Json>;
  readonly written: Readonly<Record<ScopeName, Map<string, Json>>>;
  readonly updates: Map<string, Json>;
  /** Data of the last task that succeeded. */
  previous: Json | undefined;
}

export function emptyMemory(): Memory {
  return {
    labelled: new Map(),
    named: new Map(),
    written: { ctx: new Map(), iter: new Map(), step: new Map() },
    updates: new Map(),
    previous: undefined,
  };
}

export function createVariables(call: ToolCall, now: () => Date, memory: Memory = emptyMemory()): Variables {
  const { context, input: args } = call;
  const { labelled, named, written, updates } = memory;
  const identity = { uuid: call.executionId, id: call.executionId, execution_id: call.executionId };

  const base = (scope: ScopeName): JsonObject => {
    const value = own(context, scope);
    return isObject(value) ? value : {};
  };
  const workload = (): JsonObject => {
    const value = own(context, 'workload');
    return isObject(value) ? value : {};
  };
  const whole = (scope: ScopeName): JsonObject => ({ ...base(scope), ...Object.fromEntries(written[scope]) });

  /** `ctx` also reads the workload, and step values in it answer like steps: playbooks of every dialect rely on it. */
  const ctx = lazyMap(
    (key) => {
      const value = written.ctx.has(key) ? written.ctx.get(key) : (own(base('ctx'), key) ?? own(workload(), key));
      return isObject(value) ? tolerant(value) : value;
    },
    () => new Set([...Object.keys(workload()), ...Object.keys(base('ctx')), ...written.ctx.keys()]),
  );

  function get(name: string): unknown {
    if (named.has(name)) return tolerant(named.get(name));
    if (name === 'ctx' || name === 'vars') return ctx;
    if ((name === 'iter' || name === 'step') && written[name].size > 0) return whole(name);
    if (name === 'results') return Object.fromEntries([...labelled].map(([label, data]) => [label, tolerant(data)]));
    if (name === '_prev') return tolerant(memory.previous);
    if (Object.hasOwn(args, name)) return args[name];
    if (written.ctx.has(name)) return tolerant(written.ctx.get(name));
    if (Object.hasOwn(context, name)) return PLAIN_ROOTS.has(name) ? context[name] : tolerant(context[name]);
    return fact(name);
  }

  function fact(name: string): unknown {
    switch (name) {
      case 'input':
      case 'args':
        return args;
      case 'execution_id':
        return call.executionId;
      case 'command_id':
        return call.commandId;
      case 'job':
        return identity;
      case 'step_name':
        return call.step;
      case CLOCK_ROOT:
        return now().toISOString();
      default:
        return undefined;
    }
  }

  return {
    scope: (locals) => scopeOf(locals, { get }),
    record(label, data, succeeded) {
      // Out and in again: the order tells which task finished last.
      labelled.delete(label);
      labelled.set(label, data);
      named.set(label, data);
      if (succeeded) memory.previous = data;
    },
    assign(key, value) {
      const [first = key, ...rest] = key.split('.');
      const scope = SCOPES.find((name) => name === first);
      if (scope !== undefined && rest.length > 0) {
        const [root = '', ...path] = rest;
        const current = written[scope].has(root) ? written[scope].get(root) : own(base(scope), root);
        written[scope].set(root, nested(current, path, value));
      } else {
        named.set(first, nested(named.get(first) ?? own(context, first), rest, value));
      }
      if (scope === undefined || scope === 'ctx') updates.set(key, value);
    },
    results: () => Object.fromEntries(labelled),
    finished: () => [...labelled.keys()],
    updates: () => Object.fromEntries(updates),
    plain: () => ({
      ...context,
      ...Object.fromEntries(written.ctx),
      ...Object.fromEntries(named),
      ctx: { ...workload(), ...whole('ctx') },
      iter: whole('iter'),
      results: Object.fromEntries(labelled),
      execution_id: call.executionId,
    }),
  };
}

/** A copy of `current` with `value` at `path`; what is there already is never changed in place. */
function nested(current: Json | undefined, path: readonly string[], value: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const map: JsonObject = isObject(current) ? current : {};
  return { ...map, [key]: nested(own(map, key), rest, value) };
}

function own(map: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

// What every variable held, and who had written it: a fold beside the engine's own.
import { decode } from '../engine/decode.js';
import type { DomainEvent } from '../engine/events.js';
import { evolve } from '../engine/evolve.js';
import type { EventRow } from '../engine/row.js';
import { type ExecutionState, initialState } from '../engine/state.js';
import type { Id } from '../ids/index.js';
import type { Json } from '../json/types.js';

export interface Writer {
  readonly event_id: Id;
  readonly stream_version: number;
  readonly event_type: string;
  readonly step: string | null;
  readonly at: string;
}

export interface Variable {
  /** Where templates find it: `workload.x`, `ctx.x`, `step.result`, `step.vars.x`. */
  readonly name: string;
  readonly scope: 'workload' | 'ctx' | 'result' | 'step';
  readonly step: string | null;
  readonly value: Json;
  /** Null: it stands in the log that a fork was copied from, before its first event. */
  readonly written_by: Writer | null;
}

export interface VariableFold {
  readonly state: ExecutionState;
  readonly writers: Map<string, Writer>;
}

export function startVariables(executionId: Id): VariableFold {
  return { state: initialState(executionId), writers: new Map() };
}

export function foldVariables({ state, writers }: VariableFold, row: EventRow): void {
  const event = decode(row);
  const step = event === undefined ? null : stepOf(event);
  const before = step === null ? undefined : state.steps[step]?.data;
  const had = step !== null && state.steps[step]?.hasData === true;
  evolve(state, row);
  if (event === undefined) return;
  const writer: Writer = {
    event_id: row.event_id,
    stream_version: row.stream_version,
    event_type: row.event_type,
    step,
    at: row.created_at,
  };
  for (const name of written(event)) writers.set(name, writer);
  const now = step === null ? undefined : state.steps[step];
  if (step !== null && now?.hasData === true && (!had || now.data !== before)) writers.set(`result/${step}`, writer);
}

/** Names of what an event writes by itself; results are seen by looking at the step. */
function written(event: DomainEvent): string[] {
  switch (event.type) {
    case 'playbook_started':
    case 'execution.forked':
      return Object.keys(event.workload).map((key) => `workload/${key}`);
    case 'ctx.updated':
      return Object.keys(event.values).map((key) => {
        const [scope = '', name = ''] = key.split('.');
        if (!key.includes('.')) return `ctx/${scope}`;
        if (scope === 'step') return `step/${event.step}/${name}`;
        return scope === 'ctx' ? `ctx/${name}` : `ctx/${scope}`;
      });
    default:
      return [];
  }
}

/** The command's own events name its step; others may be about none. */
function stepOf(event: DomainEvent): string | null {
  return 'step' in event ? event.step : null;
}

/** All variables, sorted by name. */
export function variablesOf({ state, writers }: VariableFold): Variable[] {
  const found: Variable[] = [];
  const add = (name: string, scope: Variable['scope'], step: string | null, value: Json, key: string) =>
    found.push({ name, scope, step, value, written_by: writers.get(key) ?? null });
  for (const [key, value] of Object.entries(state.workload))
    add(`workload.${key}`, 'workload', null, value, `workload/${key}`);
  for (const [key, value] of Object.entries(state.ctx)) add(`ctx.${key}`, 'ctx', null, value, `ctx/${key}`);
  for (const [step, { hasData, data, vars }] of Object.entries(state.steps)) {
    if (hasData) add(`${step}.result`, 'result', step, data, `result/${step}`);
    for (const [key, value] of Object.entries(vars))
      add(`${step}.vars.${key}`, 'step', step, value, `step/${step}/${key}`);
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

// The part of a finished log that a new execution may begin with. Kept is everything that need not happen again; left out is the end of
// the old execution, and whatever failed or was taken back without anybody handling it, so that just this runs again.
import type { Id } from '../ids/index.js';
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { commandEventId, commandStep, decode } from './decode.js';
import type { CommandIssued, DomainEvent } from './events.js';
import { applyEvent } from './evolve.js';
import { isErrorStatus } from './evolve-step.js';
import type { Graph } from './graph.js';
import { isStopped } from './loop.js';
import type { EventRow } from './row.js';
import { type ExecutionState, initialState, type StepState } from './state.js';

export type ForkPoint =
  | { readonly mode: 'from_failure' }
  | { readonly mode: 'from_step'; readonly step: string }
  | { readonly mode: 'from_event'; readonly eventId: Id };

export type ForkProblem = 'nothing_failed' | 'step_never_ran' | 'unknown_event' | 'nothing_to_keep';

export interface ForkPrefix {
  readonly rows: readonly EventRow[];
  /** The last event that was copied. */
  readonly lastEventId: Id;
  readonly workload: JsonObject;
}

/** `rows` is the whole log of the source, in order. */
export function forkPrefix(graph: Graph, rows: readonly EventRow[], point: ForkPoint): ForkPrefix | ForkProblem {
  const all = rows.map((row): Meaning => ({ row, event: decode(row) }));
  const chosen = choose(graph, all, point);
  if (typeof chosen === 'string') return chosen;
  const kept = withoutFailures(chosen.filter(({ event }) => event?.type !== 'playbook.ended'));
  if (point.mode === 'from_failure' && kept.failures === 0) return 'nothing_failed';
  const last = kept.rows.at(-1);
  if (last === undefined) return 'nothing_to_keep';
  return { rows: kept.rows, lastEventId: last.event_id, workload: kept.state.workload };
}

interface Meaning {
  readonly row: EventRow;
  readonly event: DomainEvent | undefined;
}

function choose(graph: Graph, all: readonly Meaning[], point: ForkPoint): readonly Meaning[] | ForkProblem {
  switch (point.mode) {
    case 'from_failure':
      return all;
    case 'from_event': {
      const index = all.findIndex(({ row }) => row.event_id === point.eventId);
      return index < 0 ? 'unknown_event' : all.slice(0, cutAfter(all, index));
    }
    case 'from_step': {
      const begins = all.findLastIndex(({ event }) => event?.type === 'step.enter' && event.step === point.step);
      if (begins < 0) return 'step_never_ran';
      const after = downstream(graph, point.step);
      return all.filter(({ event }, index) => index < begins || event === undefined || !isAbout(event, after));
    }
  }
}

/**
 * A cut between what a step has set and where it went is moved: the step is routed again when its decision is left out, and would set
 * everything a second time; what a list of tools has set on its way is said only once, right behind the end of its command.
 */
function cutAfter(all: readonly Meaning[], index: number): number {
  const event = all[index]?.event;
  const next = all[index + 1]?.event;
  if (event?.type === 'ctx.updated' && !saysUpdates(all, index)) {
    const routed = all.findIndex(
      (later, at) => at > index && later.event?.type === 'next.evaluated' && later.event.step === event.step,
    );
    return routed < 0 ? index + 1 : routed + 1;
  }
  return next?.type === 'ctx.updated' && saysUpdates(all, index + 1) ? index + 2 : index + 1;
}

/** The event repeats what the call of the command that has just ended has set. */
function saysUpdates(all: readonly Meaning[], index: number): boolean {
  const ended = all[index - 1]?.event;
  if (ended?.type !== 'command.completed' && ended?.type !== 'command.failed') return false;
  const call = all.findLast(
    ({ event }, at) =>
      at < index &&
      (event?.type === 'call.done' || event?.type === 'call.error') &&
      event.commandId === ended.commandId,
  )?.event;
  return (call?.type === 'call.done' || call?.type === 'call.error') && Object.keys(call.updates).length > 0;
}

/** The step itself and every step that it can lead to: also the final step, which comes after all others. */
function downstream(graph: Graph, step: string): ReadonlySet<string> {
  const found = new Set([step, ...(graph.final < 0 ? [] : [graph.names[graph.final] as string])]);
  for (const name of found)
    for (const arc of graph.arcs[graph.indexOf.get(name) ?? -1] ?? [])
      if (arc.to >= 0) found.add(graph.names[arc.to] as string);
  return found;
}

function isAbout(event: DomainEvent, steps: ReadonlySet<string>): boolean {
  if (event.type === 'signal.delivered') return steps.has(commandStep(event.commandId) ?? '');
  return 'step' in event && steps.has(event.step);
}

/** What ended a visit that has to be made again is left out: the visit is then open, and is taken up where it stands. */
function withoutFailures(all: readonly Meaning[]): { rows: EventRow[]; state: ExecutionState; failures: number } {
  const full = fold(all);
  const handled = handledVisits(all);
  const failed = new Map(
    Object.entries(full.steps)
      .filter(([name, visit]) => hasFailed(visit) && !handled.has(visitKey(name, visit.run)))
      .map(([name, visit]) => [name, visit.run]),
  );
  const undone = undoneCommands(all, failed, handled);
  const kept = all.filter(({ row, event }) => {
    if (event === undefined) return true;
    if ('commandId' in event) return event.type === 'command.issued' || !undone.has(event.commandId);
    if (!('run' in event) || failed.get(event.step) !== event.run) return true;
    return event.type === 'step.enter' || row.event_type === 'ctx.updated';
  });
  return { rows: kept.map(({ row }) => row), state: fold(kept), failures: failed.size + undone.size };
}

function fold(all: readonly Meaning[]): ExecutionState {
  const state = initialState(all[0]?.row.execution_id ?? ('0' as Id));
  for (const { row, event } of all) if (event !== undefined) applyEvent(state, event, row);
  return state;
}

/** A loop that has stopped is as good as failed, although some of its items may still have run when the log ended. */
function hasFailed({ phase, loop }: StepState): boolean {
  return phase === 'failed' || (loop !== null && isStopped(loop));
}

/** Visits whose arcs were asked, and whose failure, if it had one, was taken care of or tolerated. */
function handledVisits(all: readonly Meaning[]): ReadonlySet<string> {
  const visits = new Set<string>();
  for (const { event } of all)
    if (event?.type === 'next.evaluated' && event.outcome !== 'unhandled_failure')
      visits.add(visitKey(event.step, event.run));
  return visits;
}

function visitKey(step: string, run: number): string {
  return JSON.stringify([step, run]);
}

/**
 * Commands that were taken back before their visit was over, and those that failed in a visit that has to be made again. An attempt that
 * another one has followed stays failed: what became of the work is what became of the last attempt.
 */
function undoneCommands(
  all: readonly Meaning[],
  failed: ReadonlyMap<string, number>,
  handled: ReadonlySet<string>,
): ReadonlySet<string> {
  const issued = new Map<string, CommandIssued>();
  const last = new Map<string, string>();
  for (const { event } of all) {
    if (event?.type !== 'command.issued') continue;
    issued.set(event.commandId, event);
    last.set(workOf(event), event.commandId);
  }
  const undone = new Set<string>();
  const failedCalls = new Set<string>();
  for (const { event } of all) {
    if (event === undefined || !('commandId' in event)) continue;
    const command = issued.get(event.commandId);
    if (command === undefined) continue;
    noteCall(failedCalls, event);
    const cancelled = event.type === 'command.cancelled' && !handled.has(visitKey(command.step, command.run));
    const broken =
      event.type === 'command.failed' ||
      (event.type === 'command.completed' && (isErrorStatus(event.status) || failedCalls.has(event.commandId)));
    const isLast = last.get(workOf(command)) === command.commandId;
    if (cancelled || (broken && isLast && failed.get(command.step) === command.run)) undone.add(command.commandId);
  }
  return undone;
}

/** The outcome that was reported last counts; a command that changes hands has none yet. */
function noteCall(failedCalls: Set<string>, event: Extract<DomainEvent, { commandId: string }>): void {
  if (event.type === 'call.error' || (event.type === 'call.done' && isErrorStatus(event.status)))
    failedCalls.add(event.commandId);
  else if (event.type === 'call.done' || event.type === 'command.claimed' || event.type === 'command.requeued')
    failedCalls.delete(event.commandId);
}

/** The same for all attempts of one piece of work. */
function workOf({ step, run, iteration, cursor }: CommandIssued): string {
  return JSON.stringify([step, run, iteration?.index ?? null, cursor?.phase === 'claim' ? cursor.frame : null]);
}

/** The same rows as rows of another execution, each marked with where it comes from. */
export function rekey(rows: readonly EventRow[], target: Id, nextId: () => Id): EventRow[] {
  const ids = new Map<Id, Id>(rows.map((row) => [row.event_id, nextId()]));
  const commandId = (old: string): string => {
    const event = commandEventId(old);
    const index = /:i\d+$/.exec(old)?.[0] ?? '';
    return `${target}:${commandStep(old) ?? ''}:${(event && ids.get(event)) ?? event ?? ''}${index}`;
  };
  const rename = (value: Json): Json => {
    if (!isObject(value) || typeof value.command_id !== 'string') return value;
    return { ...value, command_id: commandId(value.command_id) };
  };
  return rows.map((row, index): EventRow => {
    const meta = isObject(row.meta) ? row.meta : {};
    const source = { execution_id: row.execution_id, event_id: row.event_id };
    return {
      ...row,
      execution_id: target,
      event_id: ids.get(row.event_id) as Id,
      stream_version: index + 1,
      parent_execution_id: null,
      parent_event_id: row.parent_event_id === null ? null : (ids.get(row.parent_event_id) ?? null),
      command_id: row.command_id === null ? null : commandId(row.command_id),
      context:
        isObject(row.context) && 'execution_id' in row.context ? { ...row.context, execution_id: target } : row.context,
      result: isObject(row.result) ? { ...row.result, ...renamed('context', row.result, rename) } : row.result,
      meta: {
        ...(rename(meta) as JsonObject),
        ...('execution_id' in meta ? { execution_id: target } : {}),
        forked_from: source,
      },
    };
  });
}

function renamed(key: string, value: JsonObject, rename: (value: Json) => Json): JsonObject {
  const inner = value[key];
  return inner === undefined ? {} : { [key]: rename(inner) };
}

// What must be true between executions once every message was delivered: a step ends as its child did, nobody waits for nobody, and no
// child runs on after those who waited for it have gone.
import type { Id } from '../../ids/index.js';
import { isObject } from '../../json/index.js';
import type { JsonObject } from '../../json/types.js';
import { MAX_DEPTH } from '../park.js';
import type { EventRow } from '../row.js';
import { isTerminal } from '../state.js';
import { same } from './cluster.js';
import { CLOSING, detailOf, ensure, FORKED, moves, objectOf } from './rows.js';
import type { Actor } from './stage.js';

export function checkFamily(actors: readonly Actor[]): void {
  const byId = new Map(actors.map((actor) => [actor.cluster.folded.executionId, actor]));
  const asked = new Set<Id>();
  for (const { cluster } of actors) {
    const { folded, log } = cluster;
    ensure(isTerminal(folded), `execution ${folded.executionId} is still ${folded.status}`);
    ensure(folded.depth <= MAX_DEPTH, `execution ${folded.executionId} is ${folded.depth} levels deep`);
    const own = log.slice(log.findLastIndex((row) => row.event_type === FORKED && moves(row)) + 1).filter(moves);
    for (const { park, call, close } of stepsWithChildren(own)) {
      const childId = park.executionId as Id;
      ensure(!asked.has(childId), `${childId} was asked for twice`);
      asked.add(childId);
      const child = byId.get(childId);
      if (child !== undefined) checkChild(folded.depth, child, park);
      checkEnd(close, call, park, child);
    }
  }
  for (const { cluster } of actors) {
    const { executionId, parentExecutionId } = cluster.folded;
    ensure(parentExecutionId === null || asked.has(executionId), `nobody asked for ${executionId}`);
  }
}

interface StepWithChild {
  readonly park: JsonObject;
  call: EventRow | undefined;
  close: EventRow | undefined;
}

function stepsWithChildren(rows: readonly EventRow[]): Iterable<StepWithChild> {
  const steps = new Map<string, StepWithChild>();
  for (const row of rows) {
    const id = row.command_id ?? '';
    const { park } = objectOf(row.context);
    if (row.event_type === 'command.issued' && isObject(park) && park.kind === 'child')
      steps.set(id, { park, call: undefined, close: undefined });
    const step = steps.get(id);
    if (step === undefined) continue;
    if (row.event_type === 'call.done') step.call = row;
    if (CLOSING.has(row.event_type)) step.close = row;
  }
  return steps.values();
}

function checkChild(depth: number, { cluster }: Actor, park: JsonObject): void {
  const { folded } = cluster;
  ensure(folded.depth === depth + 1, `${folded.executionId} is at depth ${folded.depth}, its parent at ${depth}`);
  ensure((folded.caller !== null) === (park.wait === true), `${folded.executionId} tells its end to the wrong one`);
}

/** The step's command has ended once, as its child did: or it was taken back, or its time was up. */
function checkEnd(close: EventRow | undefined, call: EventRow | undefined, park: JsonObject, child: Actor | undefined) {
  if (close === undefined) throw new Error(`the step of ${park.executionId} never ended`);
  if (close.event_type === 'command.cancelled') return;
  const ended = child?.cluster.folded;
  const { code } = objectOf(detailOf(close).error_info);
  if (code === 'TIMEOUT') return;
  if (ended === undefined) throw new Error(`the step ended ${close.event_type}, but its child never started`);
  if (park.wait !== true) return ensure(close.event_type === 'command.completed', 'a started child failed its step');
  const wanted = { COMPLETED: undefined, FAILED: 'CHILD_FAILED', CANCELLED: 'CHILD_CANCELLED' } as Record<
    string,
    unknown
  >;
  ensure(wanted[ended.status] === code, `the child ended ${ended.status}, its step ${code ?? 'well'}`);
  if (ended.status !== 'COMPLETED') return;
  const { data } = objectOf(objectOf(objectOf(detailOf(call as EventRow).result).context).data);
  const last = ended.steps[String(park.returnStep ?? '')]?.hasData ? String(park.returnStep) : ended.lastStep;
  ensure(
    same(data ?? null, last === null ? null : ended.steps[last]?.data),
    'its step got other data than the child has',
  );
}

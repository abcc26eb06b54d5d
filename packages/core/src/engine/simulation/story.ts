// Given a playbook, when facts arrive, then these events: a small language for tests that read like the specification.
// Every fact is also folded apart from the engine, so that no story can pass on a state that a replay would not reach.
import type { Id } from '../../ids/index.js';
import { canonicalJson, isObject } from '../../json/index.js';
import type { Json, JsonObject } from '../../json/types.js';
import { formatDiagnostic, parsePlaybook } from '../../playbook/index.js';
import { type CompiledPlaybook, compilePlaybook } from '../compile.js';
import { type Decision, decide, type Fact } from '../decide.js';
import { evolve } from '../evolve.js';
import { type ForkPoint, forkPrefix, rekey } from '../fork.js';
import type { Message } from '../messages.js';
import type { EventRow } from '../row.js';
import { type CommandState, type ExecutionState, initialState } from '../state.js';
import type { ChildEnd } from '../wait.js';
import { CATALOG, EXECUTION } from './cluster.js';
import { called, completed, failed, raised } from './reports.js';

export interface Story {
  readonly compiled: CompiledPlaybook;
  readonly state: ExecutionState;
  readonly log: readonly EventRow[];
  start(payload?: JsonObject): Story;
  /** The worker claims the step's command, runs it and reports its result. */
  does(step: string, data?: Json): Story;
  /** The same, but the tool raises. */
  fails(step: string, message?: string): Story;
  /** Time goes by, and nothing else happens. */
  advance(seconds: number): Story;
  /** The sweeper finds that the deadline of the step's command has passed. */
  due(step: string): Story;
  signal(name: string, payload?: Json, eventId?: Id): Story;
  childStarted(step: string): Story;
  /** The child of the step has ended: with `data`, or with an error. */
  childEnded(step: string, end?: Partial<Pick<ChildEnd, 'status' | 'data' | 'error'>>): Story;
  cancel(reason?: string): Story;
  /** A new story that begins with what this one has already done. */
  fork(point: ForkPoint, changes?: JsonObject): Story;
  /** What was posted to other executions so far. */
  readonly messages: readonly Message[];
  /** What time it is in the story. */
  now(): string;
  when(fact: Fact): Decision;
  claim(step: string, workerId?: string): CommandState;
  command(step: string): CommandState;
  /** Steps with an open command, in the order in which they were issued. */
  open(): string[];
  /** What the last fact led to, as `type step`; a producer's own event is not part of it. */
  ledTo(): string[];
  /** All events of one type: the steps they are about. */
  steps(type: string): string[];
  last(type: string): EventRow;
}

export function given(workflow: string, header = ''): Story {
  const text = `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: story, path: story }\n${header}\nworkflow:\n${workflow}`;
  const { playbook, diagnostics } = parsePlaybook(text);
  if (playbook === undefined) throw new Error(diagnostics.map((found) => formatDiagnostic(found)).join('\n'));
  return tell(compilePlaybook(playbook), EXECUTION, 1000n);
}

function tell(compiled: CompiledPlaybook, executionId: Id, firstId: bigint): Story {
  const state = initialState(executionId);
  const folded = initialState(executionId);
  const log: EventRow[] = [];
  const messages: Message[] = [];
  let ids = firstId;
  let since = 0;
  let idleMs = 0;

  const nextId = () => String(ids++) as Id;
  const now = () => new Date(1_800_000_000_000 + log.length * 1000 + idleMs).toISOString();

  const when = (fact: Fact): Decision => {
    since = log.length + (fact.type === 'event' ? 1 : 0);
    const decision = decide(compiled, state, fact, { now: now(), values: {}, nextId });
    messages.push(...decision.messages.map(({ message }) => message));
    for (const row of decision.rows) {
      const stored = JSON.parse(JSON.stringify(row)) as EventRow;
      log.push(stored);
      evolve(folded, stored);
    }
    if (canonicalJson(folded) !== canonicalJson(state)) {
      throw new Error(`the state is not the fold of the log\n${canonicalJson(state)}\n${canonicalJson(folded)}`);
    }
    return decision;
  };
  const command = (step: string): CommandState => {
    const found = Object.values(state.commands).find((open) => open.step === step);
    if (found === undefined)
      throw new Error(`'${step}' has no open command; open: ${story.open().join(', ') || 'none'}`);
    return found;
  };
  const must = (fact: Fact): Story => {
    const { refused } = when(fact);
    if (refused !== undefined) throw new Error(`${fact.type} was refused: ${refused}`);
    return story;
  };
  const claim = (step: string, workerId = 'w1'): CommandState => {
    const { commandId } = command(step);
    must({ type: 'claim', commandId, workerId });
    return command(step);
  };
  const story: Story = {
    compiled,
    state,
    log,
    when,
    command,
    claim,
    start(payload = {}) {
      const origin = { parentExecutionId: null, parentEventId: null, trace: null };
      when({ type: 'start', path: 'story', catalogId: CATALOG, payload, pool: 'shared', ...origin });
      return story;
    },
    does(step, data = null) {
      const { commandId, token } = claim(step);
      const told = { commandId, step, workerId: 'w1' };
      when({ type: 'event', row: called(told, data), token });
      when({ type: 'event', row: completed(told), token });
      return story;
    },
    fails(step, message = 'it broke') {
      const { commandId, token } = claim(step);
      const told = { commandId, step, workerId: 'w1' };
      when({ type: 'event', row: raised(told, message), token });
      when({ type: 'event', row: failed(told, message), token });
      return story;
    },
    messages,
    now,
    advance(seconds) {
      idleMs += seconds * 1000;
      return story;
    },
    due(step) {
      const { commandId, token } = command(step);
      return must({ type: 'due', commandId, token });
    },
    signal: (name, payload = null, eventId) => must({ type: 'signal', name, payload, eventId: eventId ?? null }),
    childStarted: (step) => must({ type: 'child_started', commandId: command(step).commandId }),
    childEnded(step, { status = 'COMPLETED', data = null, error = null } = {}) {
      const { commandId, park } = command(step);
      if (park?.kind !== 'child') throw new Error(`'${step}' waits for no child`);
      return must({ type: 'child_ended', commandId, end: { childId: park.executionId, status, data, error } });
    },
    cancel: (reason = 'enough') => must({ type: 'cancel', reason }),
    fork(point, changes = {}) {
      const prefix = forkPrefix(compiled.graph, log, point);
      if (typeof prefix === 'string') throw new Error(`it cannot be forked: ${prefix}`);
      const target = String(BigInt(executionId) + 1n) as Id;
      const forked = tell(compiled, target, ids + 1000n);
      const refused = forked.when({
        type: 'fork',
        catalogId: CATALOG,
        rows: rekey(prefix.rows, target, nextId),
        source: executionId,
        sourceEventId: prefix.lastEventId,
        mode: point.mode,
        workload: { ...prefix.workload, ...changes },
      }).refused;
      if (refused !== undefined) throw new Error(`the fork was refused: ${refused}`);
      return forked;
    },
    open: () => Object.values(state.commands).map(({ step }) => step),
    ledTo: () => log.slice(since).map((row) => [row.event_type, row.node_name].filter(Boolean).join(' ')),
    steps: (type) => log.filter((row) => row.event_type === type).map((row) => row.node_name ?? ''),
    last(type) {
      const found = log.findLast((row) => row.event_type === type);
      if (found === undefined) throw new Error(`no event ${type}`);
      return found;
    },
  };
  return story;
}

/** `result.context` of an event. */
export function detail(row: EventRow): JsonObject {
  const context = isObject(row.result) ? row.result.context : undefined;
  return isObject(context) ? context : {};
}

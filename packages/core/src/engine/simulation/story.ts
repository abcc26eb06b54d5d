// Given a playbook, when facts arrive, then these events: a small language for tests that read like the specification.
// Every fact is also folded apart from the engine, so that no story can pass on a state that a replay would not reach.
import type { Id } from '../../ids/index.js';
import { canonicalJson, isObject } from '../../json/index.js';
import type { Json, JsonObject } from '../../json/types.js';
import { formatDiagnostic, parsePlaybook } from '../../playbook/index.js';
import { type CompiledPlaybook, compilePlaybook } from '../compile.js';
import { type Decision, decide, type Fact } from '../decide.js';
import { evolve } from '../evolve.js';
import type { EventRow } from '../row.js';
import { type CommandState, type ExecutionState, initialState } from '../state.js';
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
  const compiled = compilePlaybook(playbook);
  const state = initialState(EXECUTION);
  const folded = initialState(EXECUTION);
  const log: EventRow[] = [];
  let ids = 1000n;
  let since = 0;

  const when = (fact: Fact): Decision => {
    since = log.length + (fact.type === 'event' ? 1 : 0);
    const nextId = () => String(ids++) as Id;
    const now = new Date(1_800_000_000_000 + log.length * 1000).toISOString();
    const decision = decide(compiled, state, fact, { now, values: {}, nextId });
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
  const claim = (step: string, workerId = 'w1'): CommandState => {
    const { commandId } = command(step);
    const { refused } = when({ type: 'claim', commandId, workerId });
    if (refused !== undefined) throw new Error(`the claim of '${step}' was refused: ${refused}`);
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

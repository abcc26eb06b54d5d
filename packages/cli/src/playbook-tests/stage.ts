// Plays one test: the execution under test and the children it starts, with the product's own engine and the worker's own code, on one
// virtual clock and without a server. What must stay true: nothing here waits for real time, and nothing here decides what a playbook does.
import {
  type CompiledPlaybook,
  compilePlaybook,
  type Decision,
  type DomainEvent,
  decide,
  type EventRow,
  type ExecutionState,
  type Fact,
  type Id,
  initialState,
  isTerminal,
  type Mock,
  type MockAnswer,
  type Playbook,
  type PlaybookTest,
  type World,
} from '@noetl/core';
import { silentLog, type Workshop } from '@noetl/worker';
import { messageOf } from '../errors.js';
import { type Agenda, createAgenda } from './agenda.js';
import { beginCommand } from './command.js';
import { deliver } from './family.js';
import { type Call, createMocks, type MockCall } from './mocks.js';
import { noExecutions, noResultStore } from './nowhere.js';
import { brief, describeEvent, type Moment } from './timeline.js';
import { createTools } from './tools.js';

export interface StageOptions {
  readonly playbook: Playbook;
  readonly test: PlaybookTest;
  /** Playbooks that steps may really run, by their path. */
  readonly children: ReadonlyMap<string, Playbook>;
  /** Tool kinds that run for real. */
  readonly real: ReadonlySet<string>;
  /** Shuffles what ends side by side. */
  readonly seed?: number;
}

/** Everything that came of a test. */
export interface Played {
  readonly compiled: CompiledPlaybook;
  readonly state: ExecutionState;
  /** Events of the execution under test. */
  readonly events: readonly DomainEvent[];
  /** Calls of its tools. */
  readonly calls: readonly Call[];
  readonly timeline: readonly Moment[];
  readonly durationMs: number;
  /** Why the test could not be played to its end. */
  readonly problem?: string;
}

/** What the executions of one test share. */
export interface Stage {
  readonly agenda: Agenda;
  readonly children: ReadonlyMap<string, Playbook>;
  /** The test cannot go on. */
  stop(problem: string): void;
  readonly stopped: boolean;
  open(id: Id, playbook: Playbook, mocks: readonly Mock[]): Execution;
  find(id: Id): Execution | undefined;
  /** One fact, and everything that follows from it. */
  tell(execution: Execution, fact: Fact): Decision;
}

export interface Execution {
  readonly id: Id;
  readonly compiled: CompiledPlaybook;
  readonly state: ExecutionState;
  /** The tools of its worker. */
  readonly workshop: Workshop;
  /** Commands whose tool takes its time just now. */
  readonly asleep: Set<string>;
  called(call: Call): void;
  isMocked(name: string): boolean;
  /** Undefined: no answer fits, and the test is stopped. */
  answer(name: string, call: MockCall): MockAnswer | undefined;
}

/** Far beyond any test: a playbook that goes round for ever must not hang its author's terminal. */
const MAX_MOVES = 50_000;
const FIRST_ID = 700_000_000_000_000_000n;

export async function play(options: StageOptions): Promise<Played> {
  const { test } = options;
  const agenda = createAgenda(test.now, options.seed);
  const startMs = agenda.nowMs;
  const executions = new Map<Id, Execution>();
  const events: DomainEvent[] = [];
  const calls: Call[] = [];
  const timeline: Moment[] = [];
  let problem: string | undefined;
  let ids = FIRST_ID;

  const nextId = (): Id => String(ids++) as Id;
  const world = (): World => ({ now: agenda.now, nextId, values: { env: test.env, server_url: 'http://localhost' } });
  const stage: Stage = {
    agenda,
    children: options.children,
    stop(reason) {
      problem ??= reason;
    },
    get stopped() {
      return problem !== undefined;
    },
    open,
    find: (id) => executions.get(id),
    tell,
  };

  const root = open(nextId(), options.playbook, test.mocks);
  tell(root, startFact(options.playbook, test.payload));
  for (const { name, afterMs, payload } of test.signals)
    agenda.plan(afterMs, () => void tell(root, { type: 'signal', name, payload, eventId: null }));
  if (test.cancelAfterMs !== undefined)
    agenda.plan(test.cancelAfterMs, () => void tell(root, { type: 'cancel', reason: 'cancelled by the test' }));

  for (let moves = 0; !stage.stopped && !isTerminal(root.state); moves++) {
    const work = agenda.next();
    if (work === undefined) break;
    if (moves >= MAX_MOVES) stage.stop(`it goes on for ever: stopped after ${MAX_MOVES} moves`);
    else await work();
  }
  const { compiled, state } = root;
  const endMs = state.endedAt === null ? agenda.nowMs : Date.parse(state.endedAt);
  const played = { compiled, state, events, calls, timeline, durationMs: endMs - startMs };
  return problem === undefined ? played : { ...played, problem };

  function open(id: Id, playbook: Playbook, mocked: readonly Mock[]): Execution {
    const isChild = executions.size > 0;
    const mocks = createMocks(mocked);
    const asleep = new Set<string>();
    const called = (call: Call): void => {
      if (!isChild) calls.push(call);
    };
    const answer: Execution['answer'] = (name, call) => {
      try {
        const found = mocks.answer(name, call);
        if (found === undefined) stage.stop(`no answer of the mock '${name}' fits ${brief(call.input)}`);
        return found;
      } catch (error) {
        stage.stop(`the mock '${name}' cannot be rendered: ${messageOf(error)}`);
        return undefined;
      }
    };
    const tools = createTools({
      isMocked: mocks.has,
      answer,
      called,
      real: options.real,
      now: () => new Date(agenda.nowMs),
      noted: (moment) => note(isChild ? { ...moment, playbook: playbook.metadata.path } : moment),
      missing: (name, kind) => stage.stop(unmocked(playbook, name, kind)),
      sleeps: (commandId) => asleep.add(commandId),
    });
    const execution: Execution = {
      id,
      compiled: compilePlaybook(playbook),
      state: initialState(id),
      workshop: { tools, store: noResultStore, executions: noExecutions, log: silentLog },
      asleep,
      called,
      isMocked: mocks.has,
      answer,
    };
    executions.set(id, execution);
    return execution;
  }

  function tell(execution: Execution, fact: Fact): Decision {
    const decision = decide(execution.compiled, execution.state, fact, world());
    for (const [index, row] of decision.rows.entries()) follow(execution, row, decision.events[index]);
    for (const { message } of decision.messages) deliver(stage, execution, message);
    return decision;
  }

  function follow(execution: Execution, row: EventRow, event: DomainEvent | undefined): void {
    if (event === undefined) return;
    const isRoot = execution.id === root.id;
    if (isRoot) events.push(event);
    const told = describeEvent(event, (step) => targetsOf(execution.compiled, step));
    if (told !== undefined) note(isRoot ? told : { ...told, playbook: execution.state.path });
    if (event.type === 'command.issued') beginCommand(stage, execution, row, event);
  }

  function note(moment: Omit<Moment, 'afterMs'>): void {
    const last = timeline.at(-1);
    const afterMs = agenda.nowMs - startMs;
    const again = last?.afterMs === afterMs && last.playbook === moment.playbook && last.step === moment.step;
    // A worker says twice why a command failed: of the call, with what was printed, and of the command.
    if (!again || !last.text.startsWith(moment.text)) timeline.push({ afterMs, ...moment });
  }
}

export function startFact({ metadata }: Playbook, payload: PlaybookTest['payload']): Extract<Fact, { type: 'start' }> {
  return {
    type: 'start',
    path: metadata.path,
    catalogId: '1' as Id,
    payload,
    pool: 'shared',
    parentExecutionId: null,
    parentEventId: null,
    trace: null,
  };
}

/** What a test says that meets a tool without a mock: which one, where, and what to do. */
export function unmocked({ steps }: Playbook, name: string, kind: string): string {
  const step = steps.find((one) => one.name === name) ?? steps.find((one) => name.startsWith(`${one.name}.`));
  const tasks = step?.tool.type === 'pipeline' ? step.tool.tasks : [];
  const task = tasks.find(({ label }) => name === `${step?.name}.${label}`);
  const line = (task ?? step)?.at.line;
  const where = line === undefined ? '' : ` (line ${line})`;
  const real = kind === 'playbook' ? '' : `, or pass --real ${kind}`;
  return `'${name}'${where} runs ${kind}, which a test does not touch: mock it under \`mocks\`${real}`;
}

/** Where each arc of a step leads, the one that nobody wrote included. */
function targetsOf({ playbook, graph }: CompiledPlaybook, step: string): readonly string[] {
  const index = graph.indexOf.get(step) ?? -1;
  const written = playbook.steps[index]?.next.arcs.map(({ to }) => to) ?? [];
  return (graph.arcs[index] ?? []).map((arc) => written[arc.index] ?? graph.names[arc.to] ?? 'end');
}

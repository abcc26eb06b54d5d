// One transaction of the log: bring each execution's state to its head, let the engine decide on the waiting facts, offer new
// commands to waiting workers, write the lot in one statement.
//
// What must stay true:
//   - a state that a failed or stale batch has touched is thrown away, never repaired;
//   - a refusal is given only by a state that is at the head, for the log may have moved on at another server;
//   - an execution that cannot be decided costs its neighbours nothing.
import {
  type CompiledPlaybook,
  type Decision,
  type DomainEvent,
  decide,
  type EventRow,
  type ExecutionState,
  evolve,
  type Fact,
  type Id,
  initialState,
  type Posted,
  ReferenceNeeded,
  type References,
  type World,
  withReferences,
} from '@noetl/core';
import type { Shard } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { StateCache } from './cache.js';
import { type CommandInsert, commandChanges, executionChange, messageInsert } from './project.js';
import { loadSnapshots } from './snapshots.js';
import { append, archivesAmong, eventKey, headVersions, readEvents, readEventsOfMany, storedEvents } from './store.js';

export interface Job {
  readonly id: Id;
  readonly facts: readonly Fact[];
  readonly since: number;
  attempts: number;
  /** Stored results that an earlier try has asked for. */
  references?: HeldReferences;
  resolve(outcomes: Outcome[]): void;
  reject(error: unknown): void;
}

export interface Outcome extends Decision {
  /** Stored before under the same event id: nothing was written now. */
  readonly duplicate?: boolean;
}

/** A command that this batch has just issued. */
export interface Offer {
  readonly insert: CommandInsert;
  readonly row: EventRow;
}

/** A waiting worker that takes an offer. It learns of it after the commit, or not at all. */
export interface Taker {
  readonly workerId: string;
  delivered(token: number): void;
  /** The batch failed or was stale: the worker is still waiting. */
  withdrawn(): void;
}

export interface Committed {
  readonly rows: readonly EventRow[];
  readonly state: Readonly<ExecutionState>;
  /** Issued, and not taken by a waiting worker. */
  readonly open: readonly Offer[];
  /** Messages for other executions were written. */
  readonly posted: number;
}

export interface BatchOptions {
  readonly shard: Shard;
  readonly cache: StateCache;
  readonly leaseMs: number;
  world(): World;
  playbook(catalogId: Id): Promise<CompiledPlaybook>;
  readonly references: ReferenceSource;
  /** What the outside hears of these events: rows of the outbox. */
  tell(rows: readonly EventRow[], events: readonly (DomainEvent | undefined)[], state: ExecutionState): object[];
  /** Called inside the batch, before it is written. */
  offer(offer: Offer): Taker | undefined;
  committed(committed: Committed): void;
  /** These snapshots were ignored; the logs are folded instead. */
  onBrokenSnapshot(ids: readonly Id[]): void;
  observe(stats: BatchStats): void;
}

/** Results too large for the log. The engine does no I/O: what it needs and has not is loaded, and it decides again. */
export interface ReferenceSource extends References {
  hold(): HeldReferences;
}

export interface HeldReferences extends References {
  load(ref: string): Promise<void>;
}

export interface BatchStats {
  readonly executions: number;
  readonly events: number;
  readonly stale: number;
  readonly seconds: number;
}

/** One execution's share of a batch. */
interface Work {
  readonly id: Id;
  readonly jobs: readonly Job[];
  readonly state: ExecutionState;
  readonly fromCache: boolean;
  readonly expected: number;
  readonly rows: EventRow[];
  readonly events: (DomainEvent | undefined)[];
  readonly outcomes: Outcome[][];
  readonly messages: Posted[];
  readonly takers: { readonly taker: Taker; readonly token: number }[];
  readonly open: Offer[];
}

const PAGE = 5_000;
const NOTHING = { rows: [], events: [], messages: [] };

/** Runs one batch and answers its jobs; returns those whose executions had moved on in the meantime. */
export async function commitBatch(options: BatchOptions, jobs: readonly Job[]): Promise<Job[]> {
  const started = performance.now();
  const loaded = await withoutArchives(options, await loadStates(options, jobs));
  const stored = await findStored(options, loaded);
  const ready = await withPlaybooks(options, loaded);
  const works: Work[] = [];
  const lacking: { work: Work; ref: string }[] = [];
  try {
    const world = options.world();
    for (const { work, compiled } of ready) {
      const verdict = tryDecide(options, work, compiled, world, stored);
      if (verdict === 'decided') works.push(work);
      else if (verdict !== 'refused') lacking.push({ work, ref: verdict.ref });
    }
    const stale = await writeAll(options, works);
    for (const work of works) {
      if (stale.has(work.id)) withdraw(options, work);
      else answer(options, work);
    }
    const written = works.filter((work) => work.rows.length > 0 && !stale.has(work.id));
    options.observe({
      executions: written.length,
      events: written.reduce((sum, work) => sum + work.rows.length, 0),
      stale: stale.size,
      seconds: (performance.now() - started) / 1000,
    });
    const again = works.filter((work) => stale.has(work.id));
    for (const { work, ref } of lacking) if (await loadReference(options, work, ref)) again.push(work);
    return again.flatMap((work) => work.jobs);
  } catch (error) {
    for (const work of works) withdraw(options, work);
    throw error;
  }
}

async function loadStates(options: BatchOptions, jobs: readonly Job[]): Promise<Work[]> {
  const grouped = new Map<Id, Job[]>();
  for (const job of jobs) {
    const list = grouped.get(job.id);
    if (list === undefined) grouped.set(job.id, [job]);
    else list.push(job);
  }
  const works: Work[] = [];
  const cold: ExecutionState[] = [];
  for (const [id, list] of grouped) {
    const cached = options.cache.get(id);
    const state = cached ?? initialState(id);
    // A start is the first event of its log: there is nothing to read, unless an earlier try says so.
    const first = list[0]?.facts[0]?.type;
    const fresh = (first === 'start' || first === 'fork') && list[0]?.attempts === 0;
    if (cached === undefined && !fresh) cold.push(state);
    works.push({
      id,
      jobs: list,
      state,
      fromCache: cached !== undefined || fresh,
      expected: 0,
      rows: [],
      events: [],
      outcomes: [],
      messages: [],
      takers: [],
      open: [],
    });
  }
  await foldMany(options.shard, cold, options.onBrokenSnapshot);
  return works.map((work) => ({ ...work, expected: work.state.version }));
}

async function foldMany(
  shard: Shard,
  states: readonly ExecutionState[],
  onBroken: (ids: readonly Id[]) => void,
): Promise<void> {
  if (states.length === 0) return;
  const byId = new Map(states.map((state) => [state.executionId, state]));
  await seed(shard, states, onBroken);
  const versions = new Map(states.map((state) => [state.executionId, state.version]));
  const rows = await readEventsOfMany(shard.pool, versions, PAGE);
  for (const row of rows) {
    const state = byId.get(row.execution_id);
    if (state !== undefined) evolve(state, row);
  }
  if (rows.length === PAGE) for (const state of states) await foldInto(shard, state, onBroken);
}

/** States that nothing was folded into yet begin with their snapshots, if there are any that can be used. */
async function seed(
  shard: Shard,
  states: readonly ExecutionState[],
  onBroken: (ids: readonly Id[]) => void,
): Promise<void> {
  const fresh = new Map(states.filter((state) => state.version === 0).map((state) => [state.executionId, state]));
  if (fresh.size === 0) return;
  const loaded = await loadSnapshots(shard.pool, [...fresh.keys()]);
  for (const [id, snapshot] of loaded.states) Object.assign(fresh.get(id) ?? {}, snapshot);
  if (loaded.broken.length > 0) onBroken(loaded.broken);
}

/** Brings a state to the head of its log. */
export async function foldInto(
  shard: Shard,
  state: ExecutionState,
  onBroken: (ids: readonly Id[]) => void,
): Promise<void> {
  await seed(shard, [state], onBroken);
  for (;;) {
    const rows = await readEvents(shard.pool, state.executionId, state.version, PAGE);
    for (const row of rows) evolve(state, row);
    if (rows.length < PAGE) return;
  }
}

/** An execution that was imported as an archive is history: whatever is asked of it is refused. One that is cached is none. */
async function withoutArchives(options: BatchOptions, works: readonly Work[]): Promise<Work[]> {
  const cold = works.filter((work) => !work.fromCache && work.expected > 0).map((work) => work.id);
  const archives = cold.length === 0 ? new Set<Id>() : await archivesAmong(options.shard.pool, cold);
  return works.filter((work) => {
    if (!archives.has(work.id)) return true;
    const message = `Execution ${work.id} was imported as history and cannot be changed; rerun it to go on from it`;
    refuse(options, work, new ApiProblem('conflict', message));
    return false;
  });
}

/** Which of the producers' event ids are in the log already. Our own workers send none, so this costs them nothing. */
async function findStored(options: BatchOptions, works: readonly Work[]): Promise<Set<string>> {
  const ids: { execution: Id; event: Id }[] = [];
  for (const work of works) {
    for (const fact of work.jobs.flatMap((job) => job.facts)) {
      const event = givenId(fact);
      if (event !== null) ids.push({ execution: work.id, event });
    }
  }
  return ids.length === 0 ? new Set() : storedEvents(options.shard.pool, ids);
}

/** The id that whoever made the event gave it, so that twice is once. */
function givenId(fact: Fact): Id | null {
  if (fact.type === 'event') return fact.row.event_id;
  return fact.type === 'signal' ? fact.eventId : null;
}

interface Ready {
  readonly work: Work;
  /** Undefined: the execution does not exist. */
  readonly compiled: CompiledPlaybook | undefined;
}

async function withPlaybooks(options: BatchOptions, works: readonly Work[]): Promise<Ready[]> {
  const ready = await Promise.all(
    works.map(async (work): Promise<Ready | undefined> => {
      const first = work.jobs[0]?.facts[0];
      const catalogId =
        // A log without a start belongs to something else, for example a subscription.
        work.state.startedAt !== null
          ? work.state.catalogId
          : first?.type === 'start' || first?.type === 'fork'
            ? first.catalogId
            : undefined;
      try {
        return { work, compiled: catalogId === undefined ? undefined : await options.playbook(catalogId) };
      } catch (error) {
        refuse(options, work, error);
        return undefined;
      }
    }),
  );
  return ready.filter((item) => item !== undefined);
}

function tryDecide(
  options: BatchOptions,
  work: Work,
  compiled: CompiledPlaybook | undefined,
  world: World,
  stored: Set<string>,
): 'decided' | 'refused' | ReferenceNeeded {
  try {
    const references = work.jobs.find((job) => job.references !== undefined)?.references ?? options.references;
    withReferences(references, () => {
      for (const job of work.jobs) work.outcomes.push(decideJob(options, work, job, compiled, world, stored));
    });
    return 'decided';
  } catch (error) {
    for (const { taker } of work.takers) taker.withdrawn();
    if (error instanceof ReferenceNeeded) {
      options.cache.drop(work.id);
      return error;
    }
    refuse(options, work, error);
    return 'refused';
  }
}

/** Held by the jobs until they are decided: what they need must not be driven out of the cache in between. */
async function loadReference(options: BatchOptions, work: Work, ref: string): Promise<boolean> {
  const held = work.jobs.find((job) => job.references !== undefined)?.references ?? options.references.hold();
  try {
    await held.load(ref);
  } catch (error) {
    refuse(options, work, error);
    return false;
  }
  for (const job of work.jobs) job.references = held;
  return true;
}

function decideJob(
  options: BatchOptions,
  work: Work,
  job: Job,
  compiled: CompiledPlaybook | undefined,
  world: World,
  stored: Set<string>,
): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const fact of job.facts) {
    if (compiled === undefined) {
      outcomes.push({ ...NOTHING, refused: 'not_started' });
      continue;
    }
    const given = givenId(fact);
    if (given !== null) {
      if (stored.has(eventKey(work.id, given))) {
        outcomes.push({ ...NOTHING, duplicate: true });
        continue;
      }
    }
    const decision = decide(compiled, work.state, fact, world);
    // Twice in one batch is once; what was refused is not stored, and the second gets the same answer.
    if (given !== null && decision.refused === undefined) stored.add(eventKey(work.id, given));
    add(work, decision);
    outcomes.push(decision);
    offerIssued(options, work, compiled, world, decision);
  }
  return outcomes;
}

/** Commands that were just issued go to workers that are waiting, claimed in this same transaction. */
function offerIssued(
  options: BatchOptions,
  work: Work,
  compiled: CompiledPlaybook,
  world: World,
  { rows, events }: Decision,
): void {
  for (const [index, row] of rows.entries()) {
    if (events[index]?.type !== 'command.issued') continue;
    const insert = commandChanges([row], [events[index]]).inserts[0];
    if (insert === undefined || work.state.commands[insert.command_id]?.status !== 'PENDING') continue;
    const offer: Offer = { insert, row };
    const taker = options.offer(offer);
    if (taker === undefined) {
      work.open.push(offer);
      continue;
    }
    const claim = decide(
      compiled,
      work.state,
      { type: 'claim', commandId: insert.command_id, workerId: taker.workerId },
      world,
    );
    add(work, claim);
    work.takers.push({ taker, token: work.state.commands[insert.command_id]?.token ?? 0 });
  }
}

function add(work: Work, decision: Decision): void {
  for (const row of decision.rows) work.rows.push(row);
  for (const event of decision.events) work.events.push(event);
  for (const message of decision.messages) work.messages.push(message);
}

/** The executions that were not at the version their decisions were made on. */
async function writeAll(options: BatchOptions, works: readonly Work[]): Promise<Set<Id>> {
  const writing = works.filter((work) => work.rows.length > 0);
  const stale = new Set<Id>();
  if (writing.length > 0) {
    const rows = writing.flatMap((work) => work.rows);
    const commands = commandChanges(
      rows,
      writing.flatMap((work) => work.events),
    );
    const written = await append(options.shard.writer, {
      executions: writing.map((work) => executionChange(work.state, work.expected, work.rows)),
      events: rows,
      ...commands,
      outbox: writing.flatMap((work) => options.tell(work.rows, work.events, work.state)),
      messages: writing.flatMap((work) => work.messages.map((message) => messageInsert(work.id, message))),
      leaseMs: options.leaseMs,
    });
    for (const work of writing) if (!written.has(work.id)) stale.add(work.id);
  }
  const doubtful = works.filter(
    (work) =>
      work.rows.length === 0 && work.fromCache && work.outcomes.flat().some((outcome) => outcome.refused !== undefined),
  );
  if (doubtful.length > 0) {
    const heads = await headVersions(
      options.shard.pool,
      doubtful.map((work) => work.id),
    );
    for (const work of doubtful) if ((heads.get(work.id) ?? 0) !== work.expected) stale.add(work.id);
  }
  return stale;
}

function answer(options: BatchOptions, work: Work): void {
  if (work.rows.length > 0) {
    options.cache.put(work.state, work.rows.length);
    options.committed({ rows: work.rows, state: work.state, open: work.open, posted: work.messages.length });
  }
  for (const { taker, token } of work.takers) taker.delivered(token);
  work.jobs.forEach((job, index) => {
    job.resolve(work.outcomes[index] ?? []);
  });
}

function withdraw(options: BatchOptions, work: Work): void {
  options.cache.drop(work.id);
  for (const { taker } of work.takers) taker.withdrawn();
}

function refuse(options: BatchOptions, work: Work, error: unknown): void {
  options.cache.drop(work.id);
  for (const job of work.jobs) job.reject(error);
}

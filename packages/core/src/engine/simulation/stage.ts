// Several executions on one virtual clock: a playbook, the children it starts, and what they tell each other. Everybody acts in random
// order until all have ended; when nobody can do anything, time passes until somebody can.
import type { Id } from '../../ids/index.js';
import type { JsonObject } from '../../json/types.js';
import { type CompiledPlaybook, compilePlaybook } from '../compile.js';
import type { Fact } from '../decide.js';
import { isTerminal } from '../state.js';
import { CATALOG, type Cluster, createCluster, type Surroundings } from './cluster.js';
import { createCourier } from './courier.js';
import { type Crew, createCrew } from './crew.js';
import type { RandomGraph } from './graphs.js';
import { DAWN } from './parked.js';
import type { Random } from './random.js';

/** One execution and those who work for it. */
export interface Actor {
  readonly graph: RandomGraph;
  readonly cluster: Cluster;
  readonly crew: Crew;
  readonly manners: Manners;
}

export interface StageOptions {
  readonly graph: RandomGraph;
  readonly catalog: Catalog;
  readonly random: Random;
  readonly manners: Manners;
  readonly clock: Clock;
}

/** Virtual time, and ids that are never given twice: shared by all that happens in one run. */
export interface Clock extends Surroundings {
  pass(ms: number): void;
  reach(ms: number): void;
}

export function createClock(): Clock {
  let now = DAWN;
  let ids = 800_000_000_000_000_000n;
  return {
    now: () => new Date(now).toISOString(),
    nowMs: () => now,
    nextId: () => String(ids++) as Id,
    pass(ms) {
      now += ms;
    },
    reach(ms) {
      now = Math.max(now, ms);
    },
  };
}

/** How the world treats the executions. */
export interface Manners {
  /** Leases are lost, signals come unasked, time leaps, people cancel. */
  readonly harsh: boolean;
  /** Nothing fails that a tool or a signal decides. */
  readonly healed: boolean;
}

/** Playbooks by path: the one of the seed, and all that it may start. */
export type Catalog = ReadonlyMap<string, { readonly graph: RandomGraph; readonly compiled: CompiledPlaybook }>;

export function catalogOf(root: RandomGraph): Catalog {
  const catalog = new Map<string, { graph: RandomGraph; compiled: CompiledPlaybook }>();
  const add = (graph: RandomGraph) => {
    const { path } = graph.playbook.metadata;
    if (catalog.has(path)) return;
    catalog.set(path, { graph, compiled: compilePlaybook(graph.playbook) });
    for (const { child } of graph.plans) if (child !== undefined) add(child.graph);
  };
  add(root);
  return catalog;
}

/** More facts than this means that a run does not end. */
const MAX_FACTS = 40_000;
const HOUR = 3_600_000;

export interface Stage {
  /** Tells the first execution its first fact: a start, or a fork. */
  open(executionId: Id, first: Fact): Actor;
  /** Until everybody has ended. */
  play(): readonly Actor[];
}

export function createStage({ graph, catalog, random, manners, clock }: StageOptions): Stage {
  const crash = random.pick([0, 0.02, 0.1]);
  const actors = new Map<Id, Actor>();
  const running = new Set<Actor>();

  const courier = createCourier(
    {
      stateOf: (id) => actors.get(id)?.cluster.folded,
      tell: (id, fact) => actors.get(id) === undefined || actors.get(id)?.cluster.submit(fact) !== undefined,
      begin(park, parent, commandId) {
        const found = catalog.get(park.path ?? '');
        if (found === undefined) throw new Error(`no playbook ${park.path}`);
        const first: Fact = {
          ...startOf(found.graph, park.payload),
          parentExecutionId: parent.executionId,
          parentEventId: parent.commands[commandId]?.eventId ?? null,
          depth: parent.depth + 1,
          caller: park.wait ? { commandId, returnStep: park.returnStep } : null,
        };
        return actorFor(park.executionId, found.graph).cluster.submit(first) !== undefined;
      },
    },
    random.fork('courier'),
    random.pick([0, 0.1, 0.3]),
  );

  function actorFor(executionId: Id, of: RandomGraph): Actor {
    const known = actors.get(executionId);
    if (known !== undefined) return known;
    const compiled = catalog.get(of.playbook.metadata.path)?.compiled;
    if (compiled === undefined) throw new Error(`${of.playbook.metadata.path} is not in the catalog`);
    const cluster = createCluster({
      executionId,
      compiled,
      random: random.fork(`cluster ${actors.size}`),
      crash,
      surroundings: clock,
      post: (messages) => courier.post(executionId, messages),
    });
    const crew = createCrew({
      cluster,
      graph: of,
      random: random.fork(`crew ${actors.size}`),
      manners,
      surroundings: clock,
    });
    const actor: Actor = { graph: of, cluster, crew, manners };
    actors.set(executionId, actor);
    running.add(actor);
    return actor;
  }

  /** Anybody who can do something does it. */
  function act(): boolean {
    clock.pass(random.between(0, 1_500));
    if (manners.harsh && random.chance(0.01)) clock.pass(random.between(1, HOUR));
    const someone = [...running];
    const first = random.between(0, Math.max(0, someone.length - 1));
    const courierFirst = random.chance(1 / (1 + someone.length));
    if (courierFirst && courier.act()) return true;
    for (let turn = 0; turn < someone.length; turn++) {
      const actor = someone[(first + turn) % someone.length] as Actor;
      if (actor.cluster.folded.status === 'RUNNING' && actor.crew.act()) return true;
      if (isTerminal(actor.cluster.folded)) running.delete(actor);
    }
    return courier.act();
  }

  /** Nobody works for a step that is gone: once all is delivered, a child that somebody waited for is still waited for. */
  function assertWanted(): void {
    for (const { cluster } of running) {
      const { status, caller, parentExecutionId } = cluster.folded;
      if (status !== 'RUNNING' || caller === null || parentExecutionId === null) continue;
      if (actors.get(parentExecutionId)?.cluster.folded.commands[caller.commandId] === undefined)
        throw new Error(`execution ${cluster.folded.executionId} runs, but nobody waits for it any more`);
    }
  }

  function leap(): void {
    const times = [...running].map(({ crew }) => crew.nextTime()).filter((time) => time !== undefined);
    if (times.length === 0)
      throw new Error(`stuck: ${JSON.stringify([...running].map(({ cluster }) => cluster.folded))}`);
    clock.reach(Math.min(...times));
    clock.pass(random.pick([0, 0, random.between(0, HOUR)]));
  }

  return {
    open(executionId, first) {
      const actor = actorFor(executionId, graph);
      while (actor.cluster.folded.status === 'PENDING') actor.cluster.submit(first);
      return actor;
    },
    play() {
      for (let facts = 0; ; facts++) {
        if (facts > MAX_FACTS) throw new Error(`no end after ${MAX_FACTS} facts`);
        if (actors.size > 1 && courier.isIdle()) assertWanted();
        if (act()) continue;
        // A child whose start was lost in a crash, and is not wanted any more, has never been.
        const begun = [...actors.values()].filter(({ cluster }) => cluster.folded.status !== 'PENDING');
        if (begun.every(({ cluster }) => isTerminal(cluster.folded))) return begun;
        leap();
      }
    },
  };
}

export function startOf({ playbook }: RandomGraph, payload: JsonObject): Extract<Fact, { type: 'start' }> {
  return {
    type: 'start',
    path: playbook.metadata.path,
    catalogId: CATALOG,
    payload,
    pool: 'shared',
    parentExecutionId: null,
    parentEventId: null,
    trace: null,
  };
}

// How the time of an execution was spent: a bar for each visit of a step, and in it a bar for each command with its parts (queued,
// starting, running). The items of a loop are folded into ranges, so a loop of a million items is a hundred ranges. A fold keeps the bars
// of one page only; what it holds does not grow with the log.
import { decode } from '../engine/decode.js';
import type { CommandIssued, DomainEvent } from '../engine/events.js';
import { isErrorStatus } from '../engine/evolve-step.js';
import type { EventRow } from '../engine/row.js';
import type { Id } from '../ids/index.js';
import { beginItem, endItem, type LoopBar, startLoopBar } from './loop-ranges.js';

export type PartName = 'queued' | 'starting' | 'running' | 'waiting';

export interface Part {
  readonly part: PartName;
  readonly from: string;
  /** Null: it is still going on. */
  to: string | null;
}

export type BarState = 'running' | 'done' | 'failed' | 'cancelled' | 'skipped' | 'guarded';

export interface CommandBar {
  readonly command_id: string;
  /** The event that issued it. */
  readonly event_id: Id;
  readonly tool_kind: string;
  readonly attempt: number;
  worker_id: string | null;
  state: BarState;
  error: string | null;
  readonly parts: Part[];
}

export interface VisitBar {
  /** Counts the visits of the execution, from 1, in the order they began. */
  readonly number: number;
  readonly step: string;
  readonly visit: number;
  readonly event_id: Id;
  readonly from: string;
  to: string | null;
  state: BarState;
  error: string | null;
  /** Attempts, oldest first; empty for a loop. */
  readonly commands: CommandBar[];
  readonly loop: LoopBar | null;
}

export interface TimelinePage {
  /** Bars after this number. */
  readonly after: number;
  readonly limit: number;
}

/** A timeline on its way. */
export interface Timeline {
  readonly page: TimelinePage;
  from: string | null;
  to: string | null;
  /** Of all visits, whether on this page or not. */
  visits: number;
  readonly bars: VisitBar[];
  /** The visit that each step is in, when it is on this page. */
  readonly current: Map<string, VisitBar>;
  readonly open: Map<string, OpenCommand>;
}

interface OpenCommand {
  readonly visit: VisitBar;
  readonly bar: CommandBar;
  /** Set for an item of a loop. */
  readonly index: number | undefined;
  /** How the call went, as far as it was told before the command is closed. */
  failed: string | null;
}

export function startTimeline(page: TimelinePage): Timeline {
  return { page, from: null, to: null, visits: 0, bars: [], current: new Map(), open: new Map() };
}

export function foldTimeline(timeline: Timeline, row: EventRow): void {
  timeline.from ??= row.created_at;
  timeline.to = row.created_at;
  const event = decode(row);
  if (event !== undefined) apply(timeline, event, row);
}

function apply(timeline: Timeline, event: DomainEvent, row: EventRow): void {
  const at = row.created_at;
  switch (event.type) {
    case 'step.enter':
      return begin(timeline, row, {
        step: event.step,
        visit: event.run,
        to: null,
        state: 'running',
        loop:
          event.loop === undefined
            ? null
            : startLoopBar(event.loop.loopId, event.loop.cursor === undefined ? event.loop.items.length : null),
      });
    case 'step.skipped':
      return begin(timeline, row, {
        step: event.step,
        visit: event.run,
        to: at,
        state: event.reason === 'guard' ? 'guarded' : 'skipped',
        loop: null,
      });
    case 'step.failed':
      return endVisit(timeline.current.get(event.step), 'failed', event.error, at);
    case 'loop.done': {
      const failed = event.status === 'FAILED';
      return endVisit(timeline.current.get(event.step), failed ? 'failed' : 'done', null, at);
    }
    case 'command.issued':
      return issue(timeline, event, row);
    case 'command.claimed':
      return withOpen(timeline, event.commandId, (open) => {
        open.bar.worker_id = event.workerId;
        open.failed = null;
        turnTo(open, 'starting', at);
      });
    case 'command.started':
      return withOpen(timeline, event.commandId, (open) => turnTo(open, 'running', at));
    case 'command.requeued':
      return withOpen(timeline, event.commandId, (open) => turnTo(open, 'queued', at));
    case 'command.handed_over':
      return withOpen(timeline, event.commandId, (open) => turnTo(open, 'waiting', at));
    case 'call.done':
      return withOpen(timeline, event.commandId, (open) => {
        open.failed = isErrorStatus(event.status) ? (event.error ?? event.status) : null;
      });
    case 'call.error':
      return withOpen(timeline, event.commandId, (open) => {
        open.failed = event.error;
      });
    case 'command.completed':
      return close(timeline, event.commandId, at, (open) => {
        const error = open.failed ?? (isErrorStatus(event.status) ? event.status : null);
        return { state: error === null ? 'done' : 'failed', error };
      });
    case 'command.failed':
      return close(timeline, event.commandId, at, () => ({ state: 'failed', error: event.error }));
    case 'command.cancelled':
      return close(timeline, event.commandId, at, () => ({ state: 'cancelled', error: event.reason }));
    case 'execution.forked':
      // What was on its way in the log that was copied is issued anew here.
      for (const id of [...timeline.open.keys()])
        close(timeline, id, at, () => ({ state: 'cancelled', error: 'taken back by the fork' }), false);
      return;
    case 'playbook.ended':
      for (const visit of timeline.current.values())
        if (visit.to === null) endVisit(visit, event.status === 'CANCELLED' ? 'cancelled' : 'failed', event.error, at);
      return;
    case 'playbook_started':
    case 'signal.received':
    case 'signal.delivered':
    case 'ctx.updated':
    case 'next.evaluated':
      return;
  }
}

function begin(
  timeline: Timeline,
  row: EventRow,
  start: Pick<VisitBar, 'step' | 'visit' | 'to' | 'state' | 'loop'>,
): void {
  const number = ++timeline.visits;
  const { after, limit } = timeline.page;
  if (number <= after || number > after + limit) return void timeline.current.delete(start.step);
  const bar = { number, event_id: row.event_id, from: row.created_at, error: null, commands: [], ...start };
  timeline.bars.push(bar);
  timeline.current.set(start.step, bar);
}

function issue(timeline: Timeline, event: CommandIssued, row: EventRow): void {
  const visit = timeline.current.get(event.step);
  if (visit === undefined) return;
  const parked = event.park !== undefined;
  const bar: CommandBar = {
    command_id: event.commandId,
    event_id: row.event_id,
    tool_kind: event.toolKind,
    attempt: event.attempt,
    worker_id: null,
    state: 'running',
    error: null,
    parts: [{ part: parked ? 'waiting' : 'queued', from: row.created_at, to: null }],
  };
  const index = event.iteration?.index;
  if (visit.loop === null) visit.commands.push(bar);
  else if (index !== undefined) beginItem(visit.loop, index, row.created_at);
  visit.state = 'running';
  visit.to = null;
  visit.error = null;
  timeline.open.set(event.commandId, { visit, bar, index, failed: null });
}

function turnTo({ bar }: OpenCommand, part: PartName, at: string): void {
  const last = bar.parts.at(-1);
  if (last !== undefined) last.to = at;
  bar.parts.push({ part, from: at, to: null });
}

function close(
  timeline: Timeline,
  commandId: string,
  at: string,
  outcome: (open: OpenCommand) => Pick<CommandBar, 'state' | 'error'>,
  endsVisit = true,
): void {
  const open = timeline.open.get(commandId);
  if (open === undefined) return;
  timeline.open.delete(commandId);
  const { bar, visit } = open;
  Object.assign(bar, outcome(open));
  const last = bar.parts.at(-1);
  if (last !== undefined) last.to = at;
  if (visit.loop === null) {
    if (endsVisit) endVisit(visit, bar.state, bar.error, at);
  } else if (open.index !== undefined) endItem(visit.loop, open.index, { state: bar.state, parts: bar.parts, at });
}

function endVisit(visit: VisitBar | undefined, state: BarState, error: string | null, at: string): void {
  if (visit === undefined) return;
  visit.state = state;
  visit.error = error;
  visit.to = at;
}

function withOpen(timeline: Timeline, commandId: string, change: (open: OpenCommand) => void): void {
  const open = timeline.open.get(commandId);
  if (open !== undefined) change(open);
}

export interface TimelineView {
  readonly from: string | null;
  readonly to: string | null;
  readonly visits: number;
  readonly bars: readonly VisitBar[];
  /** What to ask for as `after` to see more; null on the last page. */
  readonly next: number | null;
}

export function timelineOf({ from, to, visits, bars, page }: Timeline): TimelineView {
  const last = page.after + page.limit;
  return { from, to, visits, bars, next: visits > last ? last : null };
}

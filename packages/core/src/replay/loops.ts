// The projection `loop`: how far the items of a loop have come.
import type { Id } from '../ids/index.js';
import { count, dictionary, flag, id, int64, optional, record, text } from './codec.js';
import { type Facts, type Int64, integerIn } from './event.js';

export interface ReplayLoop {
  loop_id: string;
  step_name: string | undefined;
  total: Int64 | undefined;
  done: number;
  failed: number;
  completed: boolean;
  last_event_id: Id | undefined;
}

export const LOOPS = dictionary(
  record<ReplayLoop>({
    loop_id: text,
    step_name: optional(text),
    total: optional(int64),
    done: count,
    failed: count,
    completed: flag,
    last_event_id: optional(id),
  }),
);

/** Events are counted, not items: a command that was retried counts each time. */
export function foldLoop(loops: Map<string, ReplayLoop>, facts: Facts): void {
  if (facts.loopId === undefined) return;
  let loop = loops.get(facts.loopId);
  if (loop === undefined) {
    loop = newLoop(facts.loopId, facts);
    loops.set(facts.loopId, loop);
  }
  loop.last_event_id = facts.id;
  switch (facts.type) {
    case 'command.completed':
    case 'loop.shard.done':
      loop.done++;
      break;
    case 'command.failed':
    case 'loop.shard.failed':
      loop.failed++;
      break;
    case 'loop.done':
    case 'loop.fanin.completed':
      loop.completed = true;
      break;
  }
}

function newLoop(loopId: string, { nodeName, meta }: Facts): ReplayLoop {
  return {
    loop_id: loopId,
    step_name: nodeName,
    total: integerIn(meta, 'collection_size') ?? integerIn(meta, 'total'),
    done: 0,
    failed: 0,
    completed: false,
    last_event_id: undefined,
  };
}

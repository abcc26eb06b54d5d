// What must be true of signals and deadlines in any log: a signal is delivered once, to a command that waits for it, oldest first; and
// nothing that waits for time ends before its time.
import { isObject } from '../../json/index.js';
import type { Json, JsonObject } from '../../json/types.js';
import type { EventRow } from '../row.js';
import { same } from './cluster.js';
import { CLOSING, detailOf, ensure, FORKED, moves, objectOf } from './rows.js';

export function checkWaits(log: readonly EventRow[]): void {
  const kept = new Map<string, Json[]>();
  const open = new Map<string, JsonObject>();
  /** Commands that a signal has ended, and what it brought. */
  const heard = new Map<string, Json>();
  let copied = log.some((row) => row.event_type === FORKED && moves(row));
  for (const row of log) {
    if (!moves(row)) continue;
    const id = row.command_id ?? '';
    const name = row.node_name ?? '';
    switch (row.event_type) {
      case FORKED:
        open.clear();
        copied = false;
        break;
      case 'command.issued': {
        const { park } = objectOf(row.context);
        if (isObject(park)) open.set(id, park);
        break;
      }
      case 'signal.received':
        kept.set(name, [...(kept.get(name) ?? []), objectOf(row.context).payload ?? null]);
        break;
      case 'signal.delivered': {
        const payload = kept.get(name)?.shift();
        if (payload === undefined) throw new Error(`signal '${name}' was delivered more often than it came`);
        // A fork may have left out the step that another signal of the name went to.
        ensure(copied || open.get(id)?.signal === name, `${id} got '${name}', for which it does not wait`);
        heard.set(id, payload);
        break;
      }
      case 'call.done':
        if (heard.has(id) && !copied) {
          const { data } = objectOf(objectOf(detailOf(row).result).context);
          ensure(same(objectOf(data).payload, heard.get(id)), `${id} got another payload than was delivered`);
        }
        if (timedOut(objectOf(objectOf(objectOf(detailOf(row).result).context).data))) checkTime(open.get(id), row);
        break;
      default:
        if (!CLOSING.has(row.event_type)) break;
        if (String(objectOf(detailOf(row).error_info).code).endsWith('TIMEOUT') && open.has(id))
          checkTime(open.get(id), row);
        open.delete(id);
    }
  }
}

const timedOut = (data: JsonObject): boolean => data.waited_until !== undefined;

function checkTime(park: JsonObject | undefined, row: EventRow): void {
  const due = Date.parse(String(park?.dueAt));
  ensure(Date.parse(row.created_at) >= due, `${row.command_id} ended at ${row.created_at}, before its time`);
}

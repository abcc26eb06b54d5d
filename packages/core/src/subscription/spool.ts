// `spec.spool`: where messages are kept while what they start cannot take them.
import { readChoice, readMap } from '../playbook/fields.js';
import { child, type MapNode, mapToJson } from '../playbook/node.js';
import type { Scope } from '../playbook/scope.js';
import { requireText } from './fields.js';
import { ORDERINGS, SPOOL_BACKENDS, type Spool } from './model.js';

const MODES = ['off', 'buffer_and_ack', 'hybrid'] as const satisfies readonly Spool['mode'][];
const RECOVERIES = ['ordered_then_live', 'interleave'] as const;
const OFF: Spool = { mode: 'off' };

/** Undefined when it says something that cannot be. */
export function readSpool(scope: Scope, spec: MapNode): Spool | undefined {
  const spool = readMap(scope, spec, 'spool', 'write `spool: { mode: buffer_and_ack, bucket: … }`');
  if (spool === undefined) return OFF;
  const written = child(spool, 'mode');
  const mode = written === undefined ? 'off' : readChoice(scope, written, MODES);
  if (mode === undefined) return undefined;
  if (mode === 'off') return OFF;

  const backendNode = child(spool, 'backend');
  const backend = backendNode === undefined ? 'nats_object' : readChoice(scope, backendNode, SPOOL_BACKENDS);
  const place = backend === 'local_disk' ? 'path' : 'bucket';
  const location =
    backend &&
    requireText(scope, spool, place, `the backend \`${backend}\` needs \`${place}\`: where messages are kept`);
  const ordering = readChoice(scope, child(spool, 'ordering'), ORDERINGS) ?? 'per_key';
  checkRecovery(scope, spool, ordering);
  if (backend === undefined || location === undefined) return undefined;
  return { mode, backend, location, ordering, settings: mapToJson(spool) };
}

function checkRecovery(scope: Scope, spool: MapNode, ordering: (typeof ORDERINGS)[number]): void {
  const drain = readMap(scope, spool, 'drain');
  const node = drain && child(drain, 'on_recovery');
  const recovery = readChoice(scope, node, RECOVERIES);
  if (node === undefined || recovery !== 'interleave' || ordering !== 'global') return;
  const message = '`on_recovery: interleave` breaks `ordering: global`: new messages would overtake those that waited';
  scope.report.error('spool.order', message, node, 'write `ordered_then_live`, or `ordering: per_key`');
}

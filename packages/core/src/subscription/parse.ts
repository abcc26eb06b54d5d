// YAML text -> subscription. Reports every problem with its position and never throws; a subscription is returned only when there is
// no error. Unknown keys are kept: sources have settings of their own.
import type { Diagnostic } from '../playbook/diagnostics.js';
import { readDocument } from '../playbook/document.js';
import { readBoolean, readChoice, readMap, readText, warnUnknownKeys } from '../playbook/fields.js';
import { readMetadata } from '../playbook/header.js';
import { child, describe, entriesToJson, type MapNode, type Node } from '../playbook/node.js';
import { createReport, type Report } from '../playbook/report.js';
import type { Scope } from '../playbook/scope.js';
import { createSource, exceedsBytes, MAX_PLAYBOOK_BYTES } from '../playbook/source.js';
import { missing, readWhole, requireNode, requireText } from './fields.js';
import { readHeaders } from './headers.js';
import { readIngress } from './ingress.js';
import {
  ACTIVATIONS,
  type Dedup,
  type Dispatch,
  type PullDelivery,
  type PushDelivery,
  SOURCES,
  type Subscription,
  type SubscriptionSpec,
} from './model.js';
import { readSpool } from './spool.js';

export interface CheckedSubscription {
  /** Absent when any diagnostic is an error. */
  readonly subscription?: Subscription;
  /** In document order. */
  readonly diagnostics: readonly Diagnostic[];
}

const START = { path: '', at: { line: 1, column: 1 } };
const DEFAULT_WINDOW_SECONDS = 300;
const MAX_BATCH = 1_000;
const MODES = ['pull', 'push'] as const;

/** The keys of `spec` that this module reads; the rest belongs to the source. */
const SPEC_KEYS = ['source', 'mode', 'activation', 'ingress', 'dispatch', 'dedup', 'limits', 'headers', 'spool'];
/** Keys of sources and runtimes that are no typos of ours. */
const SETTINGS = [
  'auth',
  'url',
  'user',
  'password',
  'token',
  'stream',
  'consumer',
  'subscription',
  'endpoint',
  'brokers',
  'topic',
  'group',
  'runtime',
];

export function checkSubscription(text: string): CheckedSubscription {
  const report = createReport();
  const subscription = readSafely(text, report);
  const diagnostics = report.diagnostics();
  return subscription === undefined || report.failed() ? { diagnostics } : { subscription, diagnostics };
}

/** The YAML library may throw on text that no grammar foresaw; the author still gets a diagnostic. */
function readSafely(text: string, report: Report): Subscription | undefined {
  if (exceedsBytes(text, MAX_PLAYBOOK_BYTES)) {
    report.error('yaml.too-large', `The document is larger than ${MAX_PLAYBOOK_BYTES / 1024 / 1024} MiB`, START);
    return undefined;
  }
  const source = createSource(text);
  try {
    const root = readDocument(source, report);
    if (root === undefined) return undefined;
    return readRoot({ source, report: inOwnWords(report), checkTemplate: undefined, mentions: [], subject: '' }, root);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    report.error('yaml.syntax', `The document cannot be read: ${reason}`, START);
    return undefined;
  }
}

/** The readers that playbooks and subscriptions share name a playbook in their codes. */
function inOwnWords(report: Report): Report {
  const own = (code: string) => code.replace(/^playbook\./, 'subscription.');
  return {
    ...report,
    error: (code, message, place, hint) => report.error(own(code), message, place, hint),
    warning: (code, message, place, hint) => report.warning(own(code), message, place, hint),
  };
}

function readRoot(scope: Scope, root: Node): Subscription | undefined {
  if (root.type !== 'map') {
    const message = `A subscription is a map of keys, found ${describe(root)}`;
    scope.report.error('subscription.root', message, root, 'start with `kind: Subscription`');
    return undefined;
  }
  // The one who registers may say the kind instead; a document that says another one is not ours.
  readChoice(scope, child(root, 'kind'), ['subscription']);
  const metadata = readMetadata(scope, root);
  const hint = 'write `spec:` with `source`, `mode` and `dispatch`';
  const spec = readMap(scope, root, 'spec', hint);
  if (spec === undefined) {
    if (child(root, 'spec') === undefined) missing(scope, root, 'spec', hint);
    return undefined;
  }
  const read = readSpec(scope, spec);
  return read === undefined ? undefined : { metadata, spec: read };
}

function readSpec(scope: Scope, spec: MapNode): SubscriptionSpec | undefined {
  const known = [...SPEC_KEYS, ...SETTINGS];
  warnUnknownKeys(scope, spec, { code: 'subscription.unknown-key', known, report: 'typos' });
  const source = readChoice(
    scope,
    requireNode(scope, spec, 'source', `where messages come from: ${SOURCES.join(', ')}`),
    SOURCES,
  );
  const delivery = readDelivery(scope, spec);
  const dispatch = readDispatch(scope, spec);
  const dedup = readDedup(scope, spec);
  const limits = readMap(scope, spec, 'limits', 'write `limits: { max_in_flight: 100 }`');
  const maxInFlight = readWhole(scope, limits, 'max_in_flight');
  const maxDispatchPerSecond = readWhole(scope, limits, 'max_dispatch_per_sec');
  const headers = readHeaders(scope, spec);
  const spool = readSpool(scope, spec);
  if (source === undefined || delivery === undefined || dispatch === undefined || spool === undefined) return undefined;
  return {
    source,
    delivery,
    dispatch,
    dedup,
    limits: {
      ...(maxInFlight !== undefined && { maxInFlight }),
      ...(maxDispatchPerSecond !== undefined && { maxDispatchPerSecond }),
    },
    headers,
    spool,
    settings: entriesToJson([...spec.entries.values()].filter(({ key }) => !SPEC_KEYS.includes(key))),
  };
}

function readDelivery(scope: Scope, spec: MapNode): PullDelivery | PushDelivery | undefined {
  const hint = '`pull` fetches messages, `push` has them brought to an address';
  const mode = readChoice(scope, requireNode(scope, spec, 'mode', hint), MODES);
  switch (mode) {
    case 'pull': {
      const activation = readChoice(scope, child(spec, 'activation'), ACTIVATIONS) ?? 'continuous';
      return { mode, activation };
    }
    case 'push': {
      const ingress = readIngress(scope, spec);
      return ingress === undefined ? undefined : { mode, ingress };
    }
    case undefined:
      return undefined;
  }
}

function readDispatch(scope: Scope, spec: MapNode): Dispatch | undefined {
  const hint = 'write `dispatch: { playbook: path/of/playbook }`: what each message starts';
  const dispatch = readMap(scope, spec, 'dispatch', hint);
  if (dispatch === undefined) {
    if (child(spec, 'dispatch') === undefined) missing(scope, spec, 'dispatch', hint);
    return undefined;
  }
  const known = ['playbook', 'payload_from', 'execution_pool', 'batch_dispatch', 'batch_max'];
  warnUnknownKeys(scope, dispatch, { code: 'subscription.unknown-key', known, report: 'typos' });
  const playbook = requireText(scope, dispatch, 'playbook', hint);
  const executionPool = readText(scope, dispatch, 'execution_pool');
  const batchMax = readWhole(scope, dispatch, 'batch_max', MAX_BATCH);
  const batchDispatch = readBoolean(scope, dispatch, 'batch_dispatch') ?? false;
  const payloadFrom = readText(scope, dispatch, 'payload_from') ?? 'message.json';
  if (playbook === undefined) return undefined;
  return {
    playbook,
    payloadFrom,
    ...(executionPool !== undefined && { executionPool }),
    batchDispatch,
    ...(batchMax !== undefined && { batchMax }),
  };
}

function readDedup(scope: Scope, spec: MapNode): Dedup {
  const dedup = readMap(scope, spec, 'dedup', 'write `dedup: { enabled: true, window_secs: 300 }`');
  return {
    enabled: readBoolean(scope, dedup, 'enabled') ?? false,
    windowSeconds: readWhole(scope, dedup, 'window_secs') ?? DEFAULT_WINDOW_SECONDS,
  };
}

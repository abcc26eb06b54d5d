import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { formatDiagnostic } from '../playbook/index.js';
import { checkDocument, checkSubscription } from './index.js';

const PULL = `apiVersion: noetl.io/v1
kind: Subscription
metadata: { name: sensors, path: subscriptions/sensors }
spec:
  source: nats
  mode: pull
  auth: nats_main
  stream: SENSORS
  consumer: sensors-drain
  dispatch: { playbook: demo/ingest }
`;

const PUSH = `kind: Subscription
metadata:
  path: subscriptions/orders
spec:
  source: webhook
  mode: push
  ingress:
    gateway_path: /ingress/orders
    verify: { type: hmac_sha256, header: X-Signature, secret: orders_secret }
  dispatch:
    playbook: orders/handle
`;

/** The text with more keys under \`spec\`. */
const withSpec = (more: object) => PULL + stringify(more).replace(/^/gm, '  ').trimEnd();

const told = (text: string) =>
  checkSubscription(text).diagnostics.map(
    ({ severity, code, line, column }) => `${severity} ${code} ${line}:${column}`,
  );

describe('a subscription that pulls', () => {
  it('has its defaults, and keeps the settings of its source', () => {
    expect(checkSubscription(PULL)).toEqual({
      diagnostics: [],
      subscription: {
        metadata: { name: 'sensors', path: 'subscriptions/sensors', labels: {}, extra: {} },
        spec: {
          source: 'nats',
          delivery: { mode: 'pull', activation: 'continuous' },
          dispatch: { playbook: 'demo/ingest', payloadFrom: 'message.json', batchDispatch: false },
          dedup: { enabled: false, windowSeconds: 300 },
          limits: {},
          headers: {},
          spool: { mode: 'off' },
          settings: { auth: 'nats_main', stream: 'SENSORS', consumer: 'sensors-drain' },
        },
      },
    });
  });

  it('takes everything that a document can say', () => {
    const { subscription, diagnostics } = checkSubscription(
      withSpec({
        activation: 'scheduled',
        runtime: { batch: 50, timeout_ms: 2000 },
        dedup: { enabled: true, window_secs: 600 },
        limits: { max_in_flight: 100, max_dispatch_per_sec: 20 },
        headers: {
          normalize: true,
          directives: [
            { header: 'x-route', controls: 'dispatch.playbook', allowed: ['demo/ingest'] },
            { header: 'x-key', controls: 'idempotency_key' },
          ],
        },
        spool: { mode: 'hybrid', backend: 'local_disk', path: '/var/spool', ordering: 'none' },
      }),
    );
    expect(diagnostics).toEqual([]);
    expect(subscription?.spec).toMatchObject({
      delivery: { mode: 'pull', activation: 'scheduled' },
      dedup: { enabled: true, windowSeconds: 600 },
      limits: { maxInFlight: 100, maxDispatchPerSecond: 20 },
      headers: { normalize: true },
      spool: { mode: 'hybrid', backend: 'local_disk', location: '/var/spool', ordering: 'none' },
      settings: { runtime: { batch: 50, timeout_ms: 2000 } },
    });
  });
});

describe('a subscription that is pushed to', () => {
  it.each([
    ['hmac_sha256', { header: 'X-Signature', secret: 'orders_secret' }],
    ['bearer', { secret: 'orders_secret' }],
    ['pubsub_oidc', { audience: 'https://noetl.example', service_account: 'push@p.iam' }],
  ])('is verified by %s', (type, keys) => {
    const text = PUSH.replace(/verify: .*/, `verify: ${JSON.stringify({ type, ...keys })}`);
    const { subscription, diagnostics } = checkSubscription(text);
    expect(diagnostics).toEqual([]);
    expect(subscription?.spec.delivery).toMatchObject({
      mode: 'push',
      ingress: { gatewayPath: '/ingress/orders', verify: { type } },
    });
    for (const key of Object.keys(keys)) {
      const { [key]: _, ...rest } = keys as Record<string, string>;
      for (const broken of [rest, { ...keys, [key]: ' ' }])
        expect(told(PUSH.replace(/verify: .*/, `verify: ${JSON.stringify({ type, ...broken })}`))).toEqual([
          expect.stringMatching(/^error subscription\.required 9:/),
        ]);
    }
  });

  it.each([
    ['an ingress', / {2}ingress:\n.*\n.*\n/, '', 'error subscription.required 5:3'],
    ['an ingress that is a map', / {2}ingress:\n.*\n.*\n/, '  ingress: /here\n', 'error subscription.shape 7:12'],
    ['a path', / {4}gateway_path.*\n/, '', 'error subscription.required 8:5'],
    ['an absolute path', '/ingress/orders', 'ingress/orders', 'error ingress.path 8:19'],
    ['a path that names a listener', '/ingress/orders', '///', 'error ingress.path 8:19'],
    ['a verification', / {4}verify.*\n/, '', 'error subscription.required 8:5'],
    ['a type of verification', 'type: hmac_sha256, ', '', 'error subscription.required 9:13'],
    ['a real verification', 'hmac_sha256', 'none', 'error subscription.choice 9:21'],
  ])('needs %s', (_, from, to, problem) => {
    expect(told(PUSH.replace(from, to))).toEqual([problem]);
  });

  it('needs no ingress when it pulls', () => {
    expect(told(PUSH.replace('push', 'pull').replace(/ {2}ingress:\n.*\n.*\n/, ''))).toEqual([]);
  });
});

describe('a document without what every subscription needs is refused, where it is missing', () => {
  it.each([
    ['metadata', /metadata.*\n/, '', 'error subscription.metadata 1:1'],
    ['a path or name', /metadata.*\n/, 'metadata: { description: x }\n', 'error subscription.metadata 3:1'],
    ['spec', /spec:[\s\S]*/, '', 'error subscription.required 1:1'],
    ['a spec with something in it', /spec:[\s\S]*/, 'spec:\n', 'error subscription.required 4:1'],
    ['a spec that is a map', /spec:[\s\S]*/, 'spec: [nats]\n', 'error subscription.shape 4:7'],
    ['a source', '  source: nats\n', '', 'error subscription.required 5:3'],
    ['a known source', 'source: nats', 'source: rabbit', 'error subscription.choice 5:11'],
    ['a mode', '  mode: pull\n', '', 'error subscription.required 5:3'],
    ['a known mode', 'mode: pull', 'mode: pul', 'error subscription.choice 6:9'],
    ['something to start', / {2}dispatch.*\n/, '', 'error subscription.required 5:3'],
    [
      'a playbook to start',
      '{ playbook: demo/ingest }',
      '{ payload_from: message.body }',
      'error subscription.required 10:13',
    ],
    ['a playbook with a name', 'demo/ingest', '""', 'error subscription.required 10:25'],
    ['its own kind', 'kind: Subscription', 'kind: Playbook', 'error subscription.choice 2:7'],
  ])('%s', (_, from, to, problem) => {
    const text = PULL.replace(from, to);
    expect(checkSubscription(text).subscription).toBeUndefined();
    expect(told(text)).toEqual([problem]);
  });

  it('says all of it at once', () => {
    expect(told('kind: Subscription\nmetadata: {}\nspec: { mode: push }')).toEqual([
      'error subscription.metadata 2:1',
      'error subscription.required 3:7',
      'error subscription.required 3:7',
      'error subscription.required 3:7',
    ]);
  });
});

describe('a value that cannot be is refused, where it stands', () => {
  it.each([
    ['spec.activation', { activation: 'sometimes' }],
    ['spec.dedup', { dedup: true }],
    ['spec.dedup.enabled', { dedup: { enabled: 'yes' } }],
    ['spec.dedup.window_secs', { dedup: { window_secs: 0 } }],
    ['spec.dedup.window_secs', { dedup: { window_secs: 1.5 } }],
    ['spec.dedup.window_secs', { dedup: { window_secs: '60' } }],
    ['spec.limits', { limits: 5 }],
    ['spec.limits.max_in_flight', { limits: { max_in_flight: 0 } }],
    ['spec.limits.max_in_flight', { limits: { max_in_flight: [] } }],
    ['spec.limits.max_dispatch_per_sec', { limits: { max_dispatch_per_sec: -1 } }],
    ['spec.headers', { headers: [] }],
    ['spec.headers.directives', { headers: { directives: {} } }],
    ['spec.headers.directives[0]', { headers: { directives: ['x-key'] } }],
    ['spec.headers.directives[0]', { headers: { directives: [{ controls: 'priority', map: { a: 'b' } }] } }],
    ['spec.headers.directives[0]', { headers: { directives: [{ header: 'x-key' }] } }],
    ['spec.headers.directives[0].header', { headers: { directives: [{ header: [], controls: 'content_type' }] } }],
    ['spec.spool', { spool: 'off' }],
    ['spec.spool.mode', { spool: { mode: 'on' } }],
    ['spec.spool.backend', { spool: { mode: 'hybrid', backend: 'ftp', bucket: 'b' } }],
    ['spec.spool', { spool: { mode: 'hybrid' } }],
    ['spec.spool', { spool: { mode: 'hybrid', backend: 's3', path: '/p' } }],
    ['spec.spool', { spool: { mode: 'hybrid', backend: 'local_disk', bucket: 'b' } }],
    ['spec.spool.ordering', { spool: { mode: 'hybrid', bucket: 'b', ordering: 'some' } }],
    [
      'spec.spool.drain.on_recovery',
      { spool: { mode: 'hybrid', bucket: 'b', ordering: 'global', drain: { on_recovery: 'interleave' } } },
    ],
  ])('%s of %j', (path, more) => {
    const { subscription, diagnostics } = checkSubscription(withSpec(more));
    expect(subscription).toBeUndefined();
    expect(diagnostics.map((diagnostic) => [diagnostic.severity, diagnostic.path])).toEqual([['error', path]]);
    expect(diagnostics[0]?.line).toBeGreaterThan(10);
  });

  it.each([0, 1001, 2.5, '50', true, null])('spec.dispatch.batch_max of %j', (value) => {
    const text = PULL.replace('demo/ingest }', `demo/ingest, batch_max: ${JSON.stringify(value)} }`);
    expect(told(text)).toEqual(value === null ? [] : ['error subscription.number 10:49']);
  });

  it.each([1, 1000])('but spec.dispatch.batch_max of %d is taken', (value) => {
    const text = PULL.replace('demo/ingest }', `demo/ingest, batch_dispatch: true, batch_max: ${value} }`);
    expect(checkSubscription(text).subscription?.spec.dispatch).toMatchObject({ batchDispatch: true, batchMax: value });
  });

  it('spec.dispatch.batch_dispatch of "yes"', () => {
    expect(told(PULL.replace('demo/ingest }', 'demo/ingest, batch_dispatch: "yes" }'))).toEqual([
      'error subscription.shape 10:54',
    ]);
  });

  it('unless the spool is off', () => {
    expect(told(withSpec({ spool: { mode: 'off', backend: 'ftp' } }))).toEqual([]);
  });
});

describe('what has no effect is warned about', () => {
  it.each([
    ['a key that looks like a typo', { dedupe: { enabled: true } }, 'subscription.unknown-key'],
    [
      'a header that controls nothing',
      { headers: { directives: [{ header: 'a', controls: 'prioriy' }] } },
      'headers.unknown-control',
    ],
    [
      'a header that may say anything',
      { headers: { directives: [{ header: 'a', controls: 'dispatch.playbook' }] } },
      'headers.unbounded',
    ],
  ])('%s', (_, more, code) => {
    const { subscription, diagnostics } = checkSubscription(withSpec(more));
    expect(subscription).toBeDefined();
    expect(diagnostics).toMatchObject([{ severity: 'warning', code, hint: expect.any(String) }]);
  });
});

describe('any text', () => {
  it.each(['', 'null', '[]', 'text', 'a: [', '- 1', `kind: Subscription\nmetadata: { path: ${'['.repeat(200)}`])(
    '%j is refused',
    (text) => {
      expect(checkSubscription(text).subscription).toBeUndefined();
      expect(told(text)).toEqual([expect.stringMatching(/^error /)]);
    },
  );

  it('never throws, and either gives a subscription or says why not', () => {
    const lines = [...PULL.split('\n'), ...PUSH.split('\n')].map((line) => `${line}\n`);
    const pieces = fc.array(fc.oneof(fc.constantFrom(...lines), fc.string({ maxLength: 12 })), { maxLength: 25 });
    fc.assert(
      fc.property(pieces, (parts) => {
        const { subscription, diagnostics } = checkSubscription(parts.join(''));
        const failed = diagnostics.some(({ severity }) => severity === 'error');
        expect(subscription === undefined).toBe(failed);
      }),
      { numRuns: 500 },
    );
  });

  it('is checked by the rules of its kind', () => {
    expect(checkDocument(PULL)).toMatchObject({ diagnostics: [], subscription: {} });
    expect(checkDocument(PULL.replace('Subscription', 'subscription')).subscription).toBeDefined();
    expect(checkDocument('kind: Playbook').diagnostics.map(({ code }) => code)).toContain('playbook.workflow');
    expect(checkDocument('a: 1').diagnostics.map(({ code }) => code)).toContain('playbook.kind');
  });
});

const corpus = fileURLToPath(new URL('../../../../../shared/corpus/subscription', import.meta.url));
const files = existsSync(corpus) ? readdirSync(corpus).filter((name) => name.endsWith('.subscription.yaml')) : [];

describe.skipIf(files.length === 0)('the shared corpus', () => {
  it.each(files)('%s is taken without a warning', (name) => {
    const { subscription, diagnostics } = checkSubscription(readFileSync(join(corpus, name), 'utf8'));
    expect(diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, name))).toEqual([]);
    expect(subscription).toBeDefined();
  });
});

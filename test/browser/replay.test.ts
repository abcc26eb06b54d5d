// The same fold in a real browser: for random logs and random cuts, folding the rest on top of what came before gives what folding
// everything gives, and every checksum is the one that Node computes.
import { createReadStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  foldReplayLog,
  readExportedLog,
  resumeReplay,
  startReplay,
  takeReplayState,
} from '../../packages/core/src/index.js';
import { requireProgram } from '../support/debian.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = { '/core/': 'packages/core/dist/', '/yaml/': 'node_modules/yaml/browser/' };

const PAGE = `<!doctype html><script type="importmap">{"imports":{"yaml":"/yaml/index.js"}}</script>
<script type="module">
  import { foldReplayLog, readExportedLog, resumeReplay, startReplay, takeReplayState } from '/core/index.js';
  globalThis.checksums = (cases) => cases.map(({ line, cut }) => {
    const { events, subject } = readExportedLog(line);
    const whole = takeReplayState(foldReplayLog(startReplay(), events), subject);
    const half = takeReplayState(foldReplayLog(startReplay(), events.slice(0, cut)), subject);
    const rest = takeReplayState(foldReplayLog(resumeReplay(half), events.slice(cut)), subject);
    return { whole: whole.checksum.value, resumed: rest.checksum.value };
  });
  globalThis.ready = true;
</script>`;

let server: Server;
let context: BrowserContext;
let page: Page;
let profile: string;

beforeAll(async () => {
  if (!existsSync(join(ROOT, 'packages/core/dist/index.js'))) throw new Error('npm run build comes first');
  server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
    const [prefix, folder] = Object.entries(MODULES).find(([name]) => path.startsWith(name)) ?? [];
    if (prefix === undefined || folder === undefined) {
      response.setHeader('content-type', 'text/html').end(PAGE);
      return;
    }
    response.setHeader('content-type', 'text/javascript');
    createReadStream(join(ROOT, folder, path.slice(prefix.length)))
      .on('error', () => response.writeHead(404).end())
      .pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  profile = mkdtempSync(join(tmpdir(), 'noetl-browser-'));
  context = await chromium.launchPersistentContext(profile, {
    executablePath: requireProgram('chromium'),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  page = await context.newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForFunction('globalThis.ready === true');
}, 300_000);

afterAll(async () => {
  await context?.close();
  server?.closeAllConnections();
  server?.close();
  if (profile !== undefined) rmSync(profile, { recursive: true, force: true });
});

const name = fc.constantFrom('a', 'b', '9', '10', 'é', '😀');
const event = fc.record({
  event_type: fc.constantFrom(
    'playbook_started',
    'step.enter',
    'stage.opened',
    'stage.closed',
    'frame.dispatched',
    'frame.committed',
    'command.issued',
    'command.claimed',
    'command.completed',
    'command.failed',
    'loop.done',
    'order.created',
    'playbook.completed',
  ),
  node_name: fc.option(name),
  status: fc.constantFrom('', 'RUNNING', 'success'),
  command_id: fc.option(name),
  meta: fc.record(
    {
      stage_id: name,
      frame_id: name,
      loop_id: name,
      worker_id: name,
      row_count: fc.integer(),
      business_object: fc.record({
        type: name,
        id: name,
        patch: fc.dictionary(name, fc.jsonValue() as fc.Arbitrary<unknown>),
      }),
    },
    { requiredKeys: [] },
  ),
  result: fc.option(fc.record({ status: fc.constant('success'), reference: fc.record({ ref: name, sha256: name }) })),
});

const logWithCut = fc
  .array(event, { maxLength: 30 })
  .chain((events) => fc.tuple(fc.constant(events), fc.nat({ max: events.length })))
  .map(([events, cut]) => ({
    cut,
    line: JSON.stringify({
      execution_id: '380580603717746688',
      events: events.map((one, index) => ({ event_id: String(380_580_603_717n + BigInt(index)), ...one })),
    }),
  }));

describe('the fold in a browser', () => {
  it('gives the checksums of Node, wherever the log is cut', async () => {
    const cases = fc.sample(logWithCut, { numRuns: 300, seed: 20_261_116 });
    const expected = cases.map(({ line, cut }) => {
      const { events, subject } = readExportedLog(line);
      const whole = takeReplayState(foldReplayLog(startReplay(), events), subject).checksum.value;
      const half = takeReplayState(foldReplayLog(startReplay(), events.slice(0, cut)), subject);
      const resumed = takeReplayState(foldReplayLog(resumeReplay(half), events.slice(cut)), subject).checksum.value;
      expect(resumed).toBe(whole);
      return { whole, resumed };
    });
    const inBrowser = await page.evaluate(
      (given) => (globalThis as unknown as { checksums(cases: unknown): unknown }).checksums(given),
      cases,
    );
    expect(inBrowser).toEqual(expected);
  });
});

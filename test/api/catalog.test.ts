import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { post } from './support/ask.js';
import { chain, playbook } from './support/playbooks.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

const register = (content: string, more: object = {}) =>
  post(server.url, '/api/catalog/register', { content, ...more });
const plain = (kind: string, path: string) => `kind: ${kind}\nmetadata:\n  path: ${path}\n`;

describe('register', () => {
  it('stores YAML as version 1 and says so', async () => {
    const { status, body } = await register(chain('reg/yaml', 1));
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'success',
      message: "Resource 'reg/yaml' version '1' registered.",
      path: 'reg/yaml',
      version: 1,
      catalog_id: expect.stringMatching(/^\d{17,19}$/),
      kind: 'playbook',
      warnings: [],
    });
  });

  it('takes base64 of YAML and stores the YAML', async () => {
    const content = chain('reg/base64', 1);
    const { status, body } = await register(Buffer.from(content).toString('base64'));
    expect(status).toBe(200);
    const entry = await server.client.catalogResource({ catalog_id: String(body.catalog_id) });
    expect(entry.content).toBe(content);
  });

  it('gives the same content the same version and id', async () => {
    const first = await register(chain('reg/same', 2));
    const again = await register(chain('reg/same', 2));
    expect(again.body).toEqual(first.body);
  });

  it('gives new content the next version', async () => {
    await register(chain('reg/next', 1));
    const { body } = await register(chain('reg/next', 2));
    expect(body.version).toBe(2);
  });

  it('gives content that was replaced and comes back a new version', async () => {
    for (const length of [1, 2]) await register(chain('reg/back', length));
    const { body } = await register(chain('reg/back', 1));
    expect(body.version).toBe(3);
  });

  it('numbers 20 concurrent registrations of one path 1 to 20', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => register(chain('reg/race', index + 1))));
    expect(answers.map(({ body }) => Number(body.version)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  it('takes the kind from the document, and resource_type only when it has none', async () => {
    const named = await register(plain('Mcp', 'reg/kind-named'), { resource_type: 'Memory' });
    const unnamed = await register('metadata:\n  path: reg/kind-unnamed\n', { resource_type: 'Memory' });
    expect([named.body.kind, unnamed.body.kind]).toEqual(['mcp', 'memory']);
  });

  it.each([
    [
      'an unknown kind',
      'kind: Spaceship\nmetadata:\n  path: x\n',
      /Unknown kind 'spaceship'; this catalog knows .*playbook/,
    ],
    ['no metadata', 'kind: Mcp\n', /Missing 'metadata' section/],
    ['metadata without path and name', 'kind: Mcp\nmetadata:\n  labels: {}\n', /Missing 'path' or 'name' in metadata/],
    ['a playbook without steps', playbook('x', []), /workflow/],
    ['a scalar', 'just text', /playbook:1:1/],
  ])('refuses %s with 422 and the reason', async (_, content, error) => {
    const { status, body } = await register(content);
    expect({ status, error: body.error }).toEqual({ status: 422, error: expect.stringMatching(error) });
  });

  it('names at most three problems in the text and all of them in diagnostics', async () => {
    const steps = ['a', 'b', 'c', 'd', 'e'].map((step) => ({ step, next: [`${step}_missing`] }));
    const { status, body } = await register(playbook('reg/bad', [{ step: 'start' }, ...steps]));
    const errors = (body.diagnostics as { severity: string; line: number }[]).filter(
      ({ severity }) => severity === 'error',
    );
    expect(status).toBe(422);
    expect(errors.length).toBeGreaterThanOrEqual(5);
    expect(errors.every(({ line }) => line > 1)).toBe(true);
    expect(String(body.error)).toContain(`… and ${errors.length - 3} more`);
  });
});

describe('list', () => {
  const list = async (query: object) => {
    const { status, body } = await post(server.url, '/api/catalog/list', query);
    expect(status).toBe(200);
    return body.entries as { path: string; version: number; kind: string }[];
  };

  it('gives every version of a path, newest first, with all keys', async () => {
    for (const length of [1, 2, 3]) await register(chain('list/versions', length));
    const entries = await list({ path: 'list/versions' });
    expect(entries.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(Object.keys(entries[0] ?? {}).sort()).toEqual([
      'catalog_id',
      'content',
      'created_at',
      'kind',
      'layout',
      'meta',
      'path',
      'payload',
      'version',
    ]);
  });

  it('gives only the newest version with latest_only', async () => {
    for (const length of [1, 2]) await register(chain('list/latest', length));
    const entries = await list({ path: 'list/latest', latest_only: true });
    expect(entries.map(({ version }) => version)).toEqual([2]);
  });

  it.each([
    ['Playbook', 'playbook'],
    ['playbooks', 'playbook'],
    ['PLAYBOOK', 'playbook'],
    ['MCP', 'mcp'],
    ['ModelContextProtocol', 'mcp'],
  ])('understands resource_type %s', async (resource_type, kind) => {
    await register(plain('mcp', 'list/alias-mcp'));
    await register(chain('list/alias-playbook', 1));
    const entries = await list({ resource_type });
    expect(entries.length).toBeGreaterThan(0);
    expect(new Set(entries.map((entry) => entry.kind))).toEqual(new Set([kind]));
  });

  it('gives everything for an empty filter', async () => {
    await register(plain('mcp', 'list/all-mcp'));
    await register(chain('list/all-playbook', 1));
    const kinds = new Set((await list({})).map(({ kind }) => kind));
    expect([...kinds]).toEqual(expect.arrayContaining(['mcp', 'playbook']));
  });

  it('gives nothing for a kind that nobody has', async () => {
    expect(await list({ resource_type: 'spaceship' })).toEqual([]);
  });

  it('needs a body', async () => {
    const { status, body } = await post(server.url, '/api/catalog/list', undefined, {
      'content-type': 'application/json',
    });
    expect({ status, code: body.status }).toEqual({ status: 422, code: 422 });
  });
});

describe('resource', () => {
  const resource = (query: object) => post(server.url, '/api/catalog/resource', query);
  const ids: bigint[] = [];
  beforeAll(async () => {
    for (const length of [1, 2]) ids.push(BigInt(String((await register(chain('res/a', length))).body.catalog_id)));
  });

  it.each([
    ['path alone: the newest', { path: 'res/a' }, 2],
    ['path and number', { path: 'res/a', version: 1 }, 1],
    ['path and numeric text', { path: 'res/a', version: '1' }, 1],
    ['path and latest', { path: 'res/a', version: 'latest' }, 2],
  ])('finds by %s', async (_, query, version) => {
    const { status, body } = await resource(query);
    expect({ status, version: body.version }).toEqual({ status: 200, version });
  });

  it('finds by id as string and as integer literal, and id wins over path', async () => {
    const [first] = ids;
    const asText = await resource({ catalog_id: String(first), path: 'nowhere' });
    const asInteger = await resource({ catalog_id: first });
    expect([asText.body.version, asInteger.body.version]).toEqual([1, 1]);
    expect(asText.body.catalog_id).toBe(String(first));
  });

  it.each([
    [{}, 422, "Either 'catalog_id' or 'path' must be provided"],
    [{ catalog_id: 'abc' }, 422, 'Invalid catalog_id'],
    [{ catalog_id: '9'.repeat(30) }, 422, 'Invalid catalog_id'],
    [{ path: 'res/a', version: 'newest' }, 422, 'Invalid version number'],
    [{ path: 'res/a', version: 1.5 }, 422, 'Invalid version number'],
    [{ catalog_id: '12345' }, 404, /Catalog entry.*12345/],
    [{ path: 'no/such' }, 404, /no\/such/],
    [{ path: 'res/a', version: 99 }, 404, "Catalog entry 'res/a' version 99 not found"],
    [{ path: 'res/a', version: 99_999_999_999 }, 422, 'Invalid version number'],
  ])('answers %j with %i', async (query, status, error) => {
    const answer = await resource(query);
    expect({ status: answer.status, error: answer.body.error }).toEqual({
      status,
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
  });
});

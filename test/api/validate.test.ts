// What an editor asks the server: what is wrong with this text, what does it look like, and which schema to complete with.
import { beforeAll, describe, expect, it } from 'vitest';
import { playbookSchema } from '../../packages/core/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { get, post } from './support/ask.js';
import { chain, playbook } from './support/playbooks.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

const validate = (content: unknown) => post(server.url, '/api/catalog/validate', { content });

const ROUTED = `apiVersion: noetl.io/v2
kind: Playbook
metadata:
  path: validate/routed
workflow:
  - step: start
    tool: { kind: python, code: "result = 1" }
    next:
      arcs:
        - step: again
          when: "{{ start > 0 }}"
        - step: end
  - step: again
    tool: { kind: noop }
    next: { arcs: [{ step: start, when: "{{ start < 3 }}" }] }
`;

describe('validate', () => {
  it('finds nothing wrong with a good playbook', async () => {
    const { status, body } = await validate(chain('validate/good', 1));
    expect(status).toBe(200);
    expect(body).toEqual({
      valid: true,
      errors: [],
      diagnostics: [],
      graph: { nodes: [{ id: 'start', kind: 'noop', line: 7 }], arcs: [] },
    });
  });

  it('shows steps with kind and line, arcs with their condition, and which arcs go back', async () => {
    const { body } = await validate(ROUTED);
    expect(body.graph).toEqual({
      nodes: [
        { id: 'start', kind: 'python', line: 6 },
        { id: 'again', kind: 'noop', line: 13 },
        { id: 'end', kind: 'end', line: 12 },
      ],
      arcs: [
        { from: 'start', to: 'again', when: '{{ start > 0 }}', back: false },
        { from: 'start', to: 'end', back: false },
        { from: 'again', to: 'start', when: '{{ start < 3 }}', back: true },
      ],
    });
  });

  it('uses the step that the playbook defines as `end`, and shows the arcs that are not written', async () => {
    const { body } = await validate(playbook('validate/end', [{ step: 'start' }, { step: 'end' }]));
    expect(body.graph).toMatchObject({
      nodes: [{ id: 'start' }, { id: 'end', kind: 'noop' }],
      arcs: [{ from: 'start', to: 'end', back: false }],
    });
  });

  it('tells every problem with its place, and the errors as text', async () => {
    const content = ROUTED.replace('kind: python', 'kind: pyton').replace(
      'step: again\n          when',
      'step: agian\n          when',
    );
    const { status, body } = await validate(content);
    expect({ status, valid: body.valid }).toEqual({ status: 200, valid: false });
    expect(body.diagnostics).toEqual([
      expect.objectContaining({ code: 'tool.unknown-kind', severity: 'error', line: 7, column: 19 }),
      expect.objectContaining({ code: 'step.unknown-target', severity: 'error', line: 10 }),
    ]);
    expect(body.errors).toEqual([
      expect.stringMatching(/^playbook:7:19: error\[tool.unknown-kind\]/),
      expect.stringMatching(/^playbook:10:\d+: error\[step.unknown-target\]/),
    ]);
  });

  it('keeps warnings out of the errors', async () => {
    const { body } = await validate(playbook('validate/warned', [{ step: 'start' }], { vars: { a: 1 } }));
    expect(body).toMatchObject({
      valid: true,
      errors: [],
      diagnostics: [{ severity: 'warning', code: 'playbook.legacy-vars' }],
    });
  });

  it('still draws the graph while a template is being typed', async () => {
    const { body } = await validate(ROUTED.replace('{{ start > 0 }}', '{{ start > }}'));
    expect(body.valid).toBe(false);
    expect(body.graph).toMatchObject({ nodes: [{ id: 'start' }, { id: 'again' }, { id: 'end' }] });
  });

  it.each([
    ['an empty text', ''],
    ['text that is not YAML', 'a: [1'],
    ['YAML that is no playbook', '- 1\n- 2\n'],
  ])('has no graph for %s', async (_, content) => {
    const { status, body } = await validate(content);
    expect({ status, valid: body.valid, graph: body.graph }).toEqual({ status: 200, valid: false, graph: null });
    expect(body.errors).not.toEqual([]);
  });

  it('takes base64 as register does', async () => {
    const { body } = await validate(Buffer.from(chain('validate/base64', 1)).toString('base64'));
    expect(body.valid).toBe(true);
  });

  it('stores nothing', async () => {
    await validate(chain('validate/nothing', 1));
    const { entries } = await server.client.catalogList({ path: 'validate/nothing', include_archived: true });
    expect(entries).toEqual([]);
  });

  it.each([[undefined], [null], [7]])('refuses content %j', async (content) => {
    expect((await validate(content)).status).toBe(422);
  });
});

describe('the playbook schema', () => {
  it('is served as JSON', async () => {
    const { status, headers, body } = await get(server.url, '/api/schema/playbook.json');
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: expect.stringMatching(/json/) });
    expect(body).toEqual(playbookSchema());
  });
});

describe('with a token', () => {
  let guarded: TestServer;
  beforeAll(async () => {
    guarded = await startTestServer({ env: { NOETL_API_TOKEN: 'secret-token-for-tests' } });
  });

  it.each([
    ['POST', '/api/catalog/validate'],
    ['POST', '/api/catalog/delete'],
    ['POST', '/api/catalog/restore'],
    ['GET', '/api/schema/playbook.json'],
  ])('%s %s needs it', async (method, path) => {
    const body = { content: 'a', path: 'a' };
    const { status } = method === 'GET' ? await get(guarded.url, path) : await post(guarded.url, path, body);
    expect(status).toBe(401);
  });
});

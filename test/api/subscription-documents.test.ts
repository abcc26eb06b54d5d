// Documents of kind Subscription in the catalog: checked when they are registered, listed like everything else, never executed.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { post } from './support/ask.js';
import { subscription } from './support/subscriptions.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

const register = (json: object) => post(server.url, '/api/catalog/register', json);

describe('registering a document', () => {
  it('stores it under its path and kind', async () => {
    const { status, body } = await register({ content: subscription('docs/one') });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'success', path: 'docs/one', version: 1, kind: 'subscription', warnings: [] });
  });

  it('takes the kind from the request when the document says none', async () => {
    const content = subscription('docs/unsaid').replace('kind: Subscription\n', '');
    expect((await register({ content, resource_type: 'Subscription' })).body.kind).toBe('subscription');
  });

  it('refuses one that cannot work, with file, line and column of every problem', async () => {
    const content = subscription('docs/bad', { source: 'rabbit', limits: { max_in_flight: 0 } });
    const { status, body } = await register({ content });
    expect(status).toBe(422);
    expect(body.error).toContain('subscription:7:11: error[subscription.choice]: spec.source must be one of');
    expect(body.diagnostics).toMatchObject([
      { path: 'spec.source', line: 7, column: 11 },
      { path: 'spec.limits.max_in_flight', line: 14, column: 20 },
    ]);
    const { entries } = await server.client.catalogList({ path: 'docs/bad' });
    expect(entries).toEqual([]);
  });

  it('tells what has no effect', async () => {
    const { body } = await register({ content: subscription('docs/typo', { dedupe: {} }) });
    expect(body.warnings).toMatchObject([{ code: 'subscription.unknown-key', hint: 'did you mean `dedup`?' }]);
  });
});

describe('a registered document', () => {
  it.each(['Subscription', 'subscriptions'])('is listed as %s', async (resource_type) => {
    await register({ content: subscription('docs/listed') });
    const { entries } = await server.client.catalogList({ resource_type });
    expect(entries.map(({ path }) => path)).toContain('docs/listed');
    expect(new Set(entries.map(({ kind }) => kind))).toEqual(new Set(['subscription']));
  });

  it('is read back as it was written', async () => {
    const content = subscription('docs/read');
    await register({ content });
    expect(await server.client.catalogResource({ path: 'docs/read' })).toMatchObject({ kind: 'subscription', content });
  });

  it('is not executed', async () => {
    await register({ content: subscription('docs/run') });
    const { status, body } = await post(server.url, '/api/execute', { path: 'docs/run' });
    expect([status, body.error]).toEqual([
      422,
      "'docs/run' is a subscription; only playbooks and agents can be executed",
    ]);
    expect(await server.client.listExecutions()).toEqual([]);
  });
});

describe('asking what is wrong with a document', () => {
  it('finds nothing in a good one, and draws no graph', async () => {
    expect(await server.client.validate(subscription('docs/ask'))).toEqual({
      valid: true,
      errors: [],
      diagnostics: [],
      graph: null,
    });
  });

  it('finds every problem of a bad one', async () => {
    const { valid, diagnostics } = await server.client.validate(
      subscription('docs/ask', { mode: 'pul', dispatch: {} }),
    );
    expect(valid).toBe(false);
    expect(diagnostics.map(({ path }) => path)).toEqual(['spec.mode', 'spec.dispatch']);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import type { StreamMessage, WireEvent } from '../../packages/client/src/index.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { startTestWorker } from '../support/worker.js';
import { get } from './support/ask.js';
import { chain } from './support/playbooks.js';
import { done, leaseOne, workOff } from './support/reports.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.register(chain('sse/two', 2));
  await server.client.register(chain('sse/twenty', 20));
});

const start = async (path: string) => (await server.client.execute({ path })).execution_id;

async function follow(
  id: string,
  options: { lastEventId?: string; stopAfter?: number } = {},
): Promise<StreamMessage[]> {
  const messages: StreamMessage[] = [];
  for await (const message of server.client.stream(id, { lastEventId: options.lastEventId })) {
    messages.push(message);
    if (messages.length === options.stopAfter) break;
  }
  return messages;
}

const versions = (messages: readonly StreamMessage[]) =>
  messages.flatMap((message) => (message.event === 'event' ? [message.data.stream_version] : []));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a finished execution', () => {
  it('is streamed in order and ends with its status', async () => {
    const id = await start('sse/two');
    await workOff(server.client);
    const messages = await follow(id);
    const total = (await server.client.execution(id)).event_count;
    expect(versions(messages)).toEqual(upTo(total));
    expect(messages.at(-1)).toEqual({ event: 'status', data: { execution_id: id, status: 'COMPLETED' } });
  });

  it('has the same events as the events route, with the event id as SSE id', async () => {
    const id = await start('sse/two');
    await workOff(server.client);
    const { events } = await server.client.events(id, { order: 'asc' });
    const messages = await follow(id);
    const streamed = messages.filter((message) => message.event === 'event');
    expect(streamed.map(({ data }) => data as WireEvent)).toEqual(events);
    expect(streamed.map((message) => message.id)).toEqual(events.map(({ event_id }) => event_id));
  });

  it('resumed after its last event gives only the status', async () => {
    const id = await start('sse/two');
    await workOff(server.client);
    const [last] = (await server.client.events(id)).events;
    expect((await follow(id, { lastEventId: String(last?.event_id) })).map(({ event }) => event)).toEqual(['status']);
  });

  it.each(['failed', 'cancelled'])('ends with its status when it was %s', async (how) => {
    const id = await start('sse/two');
    if (how === 'cancelled') await server.client.cancel(id);
    else await server.client.finalize(id, { reason: 'x' });
    expect((await follow(id)).at(-1)).toMatchObject({ event: 'status', data: { status: how.toUpperCase() } });
  });
});

describe('a running execution', () => {
  it('is followed from the first to the last event while it runs', async () => {
    const id = await start('sse/twenty');
    const following = follow(id);
    const worker = startTestWorker(server.client);
    const messages = await following;
    await worker.drain();
    const total = (await server.client.execution(id)).event_count;
    expect(versions(messages)).toEqual(upTo(total));
    expect(messages.at(-1)).toMatchObject({ event: 'status', data: { status: 'COMPLETED' } });
  });

  it('loses and doubles nothing over a reconnect after every three events', async () => {
    const id = await start('sse/twenty');
    const worker = startTestWorker(server.client);
    const seen: StreamMessage[] = [];
    for (let last: string | undefined; ; ) {
      const part = await follow(id, { stopAfter: 3, ...(last === undefined ? {} : { lastEventId: last }) });
      seen.push(...part);
      if (part.some(({ event }) => event === 'status')) break;
      last = part.at(-1)?.id;
    }
    await worker.drain();
    const total = (await server.client.execution(id)).event_count;
    expect(total).toBeGreaterThan(100);
    expect(versions(seen)).toEqual(upTo(total));
  });

  it('is followed by 20 at once, all of whom see the same', async () => {
    const id = await start('sse/twenty');
    const following = Promise.all(Array.from({ length: 20 }, () => follow(id)));
    const worker = startTestWorker(server.client);
    const all = await following;
    await worker.drain();
    const total = (await server.client.execution(id)).event_count;
    for (const messages of all) expect(versions(messages)).toEqual(upTo(total));
  });

  it('delivers an event before the execution ends', async () => {
    const id = await start('sse/two');
    const messages = server.client.stream(id)[Symbol.asyncIterator]();
    const next = async () => (await messages.next()).value as StreamMessage;
    const until = async (type: string) => {
      for (;;) {
        const message = await next();
        if (message.event === 'event' && message.data.event_type === type) return message.data;
      }
    };
    const command = await leaseOne(server.client);
    expect((await until('command.claimed')).command_id).toBe(command.command_id);
    await server.client.report({ worker_id: 'w1', reports: [done(command)] });
    expect((await until('command.completed')).node_name).toBe('start');
    await messages.return?.();
    await server.client.cancel(id);
  });
});

describe('Last-Event-ID', () => {
  it.each(['12345', 'abc', '9'.repeat(30)])('%s of nowhere is 400', async (last) => {
    const id = await start('sse/two');
    const { status, body } = await get(server.url, `/api/executions/${id}/stream`, { 'last-event-id': last });
    expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringContaining('Last-Event-ID') });
    await server.client.cancel(id);
  });

  it('of another execution is 400', async () => {
    const [id, other] = [await start('sse/two'), await start('sse/two')];
    const [event] = (await server.client.events(other)).events;
    const { status } = await get(server.url, `/api/executions/${id}/stream`, {
      'last-event-id': String(event?.event_id),
    });
    expect(status).toBe(400);
    await Promise.all([id, other].map((one) => server.client.cancel(one)));
  });

  it('may stand in the query, where browsers cannot set headers', async () => {
    const id = await start('sse/two');
    await server.client.cancel(id);
    const { events } = await server.client.events(id, { order: 'asc' });
    const { text, headers } = await get(
      server.url,
      `/api/executions/${id}/stream?last_event_id=${String(events.at(-2)?.event_id)}`,
    );
    expect(headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(text.match(/^id: .*/gm)).toEqual([`id: ${String(events.at(-1)?.event_id)}`]);
    expect(text).toContain('event: status\n');
  });
});

it('a server that closes ends its open streams', async () => {
  const other = await startTestServer({ database: server.database });
  const id = await start('sse/two');
  const response = await fetch(`${other.url}/api/executions/${id}/stream`);
  const reading = response.text().then(
    () => 'over',
    () => 'over',
  );
  await other.close();
  expect(await reading).toBe('over');
  await server.client.cancel(id);
});

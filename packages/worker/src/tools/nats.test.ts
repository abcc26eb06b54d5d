import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { JsonObject } from '@noetl/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNats, type TestNats } from '../../../../test/support/nats.js';
import { createNatsTool } from './nats.js';
import type { ToolCall } from './tool.js';
import { toolCall } from './tool-call.fixture.js';

let nats: TestNats;
let observer: NatsConnection;
const tool = createNatsTool();

beforeAll(async () => {
  nats = await startTestNats();
  observer = await connect({ servers: [nats.url] });
});
afterAll(async () => {
  await tool.close?.();
  await observer.close();
});

const call = (config: JsonObject, parts: Partial<ToolCall> = {}) =>
  tool.run(toolCall({ url: nats.url, ...config }, parts));
const dataOf = async (config: JsonObject) => (await call(config)).data as JsonObject;
const manager = () => jetstreamManager(observer);

let streams = 0;
/** A stream of its own for a test, with a durable consumer, and the subject it holds. */
async function freshStream(): Promise<{ stream: string; consumer: string; subject: string }> {
  const stream = `S${++streams}`;
  const subject = `${stream}.all`;
  await (await manager()).streams.add({ name: stream, subjects: [`${stream}.>`] });
  await (await manager()).consumers.add(stream, { durable_name: 'reader', ack_policy: 'explicit' });
  return { stream, consumer: 'reader', subject };
}

describe('publishing to whoever listens', () => {
  it('sends text as it is and everything else as JSON, with headers', async () => {
    const heard = observer.subscribe('news.*', { max: 2 });
    await call({
      operation: 'publish',
      messages: [
        { subject: 'news.a', data: 'plain', headers: { Kind: 'x', Tags: ['a', 'b'] } },
        { subject: 'news.b', data: { id: 380566825353609227n } },
      ],
    });
    const seen = [];
    for await (const message of heard)
      seen.push([message.subject, message.string(), message.headers?.values('Tags') ?? []]);
    expect(seen).toEqual([
      ['news.a', 'plain', ['a', 'b']],
      ['news.b', '{"id":380566825353609227}', []],
    ]);
  });

  it.each(['', 'a b', 'a.*', 'a..b', '>'])(
    "refuses the subject '%s', which would end the connection",
    async (subject) => {
      await expect(call({ operation: 'publish', subject, data: 1 })).rejects.toThrow('subject must be a subject');
    },
  );
});

describe('publishing to a stream', () => {
  it('answers with the stream and the number of the message', async () => {
    const { stream, subject } = await freshStream();
    expect(await dataOf({ operation: 'js_publish', subject, data: { n: 1 } })).toEqual({
      status: 'success',
      stream,
      seq: 1,
      duplicate: false,
    });
  });

  it('takes a message id twice for one message', async () => {
    const { subject } = await freshStream();
    const message = { operation: 'js_publish', subject, data: 1, msg_id: 'order-7' };
    await call(message);
    expect(await dataOf(message)).toMatchObject({ seq: 1, duplicate: true });
  });

  it('publishes once when its command is tried again', async () => {
    const { subject } = await freshStream();
    const message = { operation: 'js_publish', subject, data: 1 };
    await call(message, { attempt: 1 });
    expect((await call(message, { attempt: 2 })).data).toMatchObject({ duplicate: true });
    expect((await call(message, { commandId: 'cmd-2' })).data).toMatchObject({ duplicate: false });
  });

  it('publishes a list in its order', async () => {
    const { stream, subject } = await freshStream();
    const messages = Array.from({ length: 600 }, (_, n) => ({ subject, data: n }));
    expect(await dataOf({ operation: 'js_publish', messages })).toEqual({
      status: 'success',
      published: 600,
      duplicates: 0,
      failed: [],
    });
    const { messages: stored } = await dataOf({
      operation: 'js_consume',
      stream,
      consumer: 'reader',
      batch: 1_000,
      timeout_ms: 0,
    });
    expect((stored as JsonObject[]).map(({ data }) => data)).toEqual(messages.map(({ data }) => data));
  });

  it('a message that no stream takes stops no other one, and is named', async () => {
    const { subject } = await freshStream();
    const messages = [
      { subject, data: 1 },
      { subject: 'nobody.listens', data: 2 },
      { subject, data: 3 },
    ];
    expect(await call({ operation: 'js_publish', messages })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('1 of 3 messages were not taken'),
      data: { status: 'partial', published: 2, failed: [{ index: 1, subject: 'nobody.listens' }] },
    });
  });

  it('an empty list is nothing to do', async () => {
    expect(await dataOf({ operation: 'js_publish', messages: [] })).toMatchObject({ status: 'success', published: 0 });
  });

  it('one message that no stream takes fails the step for good', async () => {
    await expect(call({ operation: 'js_publish', subject: 'nobody.listens', data: 1 })).rejects.toMatchObject({
      info: { kind: 'not_found', retryable: false, code: 'NATS_NO_RESPONDERS' },
    });
  });
});

describe('a bucket', () => {
  const bucket = 'sessions';

  it.each([
    ['an object', { user: 1, tags: ['a'] }],
    ['a large id', { id: 380566825353609227n }],
    ['text', 'hello'],
    ['null', null],
  ])('gives back what was put: %s', async (_, value) => {
    expect(await dataOf({ operation: 'kv_put', bucket, key: 'k', value })).toMatchObject({
      status: 'success',
      revision: expect.any(Number),
    });
    expect(await dataOf({ operation: 'kv_get', bucket, key: 'k' })).toMatchObject({ status: 'success', value });
  });

  it('does not have a key that was never put', async () => {
    const missing = { status: 'not_found', bucket, key: 'missing', value: null };
    expect(await dataOf({ operation: 'kv_get', bucket, key: 'missing', create: true })).toEqual(missing);
  });

  it.each(['kv_delete', 'kv_purge'])('forgets a key after %s', async (operation) => {
    await call({ operation: 'kv_put', bucket, key: 'gone', value: 1 });
    expect(await dataOf({ operation, bucket, key: 'gone' })).toEqual({ status: 'success', bucket, key: 'gone' });
    expect(await dataOf({ operation: 'kv_get', bucket, key: 'gone' })).toMatchObject({ status: 'not_found' });
  });

  it('lists keys by a pattern', async () => {
    for (const key of ['user.1', 'user.2', 'team.1'])
      await call({ operation: 'kv_put', bucket: 'listed', key, value: 1 });
    const listed = { status: 'success', bucket: 'listed' };
    expect(await dataOf({ operation: 'kv_keys', bucket: 'listed' })).toEqual({
      ...listed,
      keys: ['team.1', 'user.1', 'user.2'],
      count: 3,
    });
    expect(await dataOf({ operation: 'kv_keys', bucket: 'listed', pattern: 'user.*' })).toMatchObject({
      keys: ['user.1', 'user.2'],
    });
  });

  it.each(['kv_get', 'kv_put', 'kv_keys', 'kv_delete'])('that is not there is named by %s', async (operation) => {
    await expect(call({ operation, bucket: 'absent', key: 'k', value: 1, create: false })).rejects.toThrow(
      "there is no bucket 'absent'; with create: true",
    );
  });

  it('needs a key without blanks', async () => {
    await expect(call({ operation: 'kv_get', bucket, key: 'a b' })).rejects.toThrow('key is required');
  });
});

describe('a stream', () => {
  async function filled(count: number) {
    const made = await freshStream();
    const messages = Array.from({ length: count }, (_, n) => ({ subject: made.subject, data: { n, extra: 'x' } }));
    await call({ operation: 'js_publish', messages });
    return { ...made, take: { operation: 'js_consume', stream: made.stream, consumer: 'reader', timeout_ms: 0 } };
  }
  const pendingAcks = async (stream: string) =>
    (await (await manager()).consumers.info(stream, 'reader')).num_ack_pending;

  it('gives its messages once to a consumer, which acknowledges them', async () => {
    const { stream, take, subject } = await filled(3);
    const first = await dataOf({ ...take, batch: 2 });
    expect(first).toMatchObject({
      count: 2,
      acked: true,
      messages: [{ subject, stream_seq: 1, delivered: 1, data: { n: 0 } }, { data: { n: 1 } }],
    });
    expect(await dataOf(take)).toMatchObject({ count: 1, messages: [{ data: { n: 2 } }] });
    expect(await dataOf(take)).toMatchObject({ count: 0, messages: [] });
    expect(await pendingAcks(stream)).toBe(0);
  });

  it('waits for the acknowledgement of another step', async () => {
    const { stream, take } = await filled(2);
    const { messages } = await dataOf({ ...take, ack: 'defer' });
    expect(await pendingAcks(stream)).toBe(2);
    const ack_ids = (messages as JsonObject[]).map(({ ack_id }) => ack_id ?? null);
    expect(await dataOf({ operation: 'js_ack', ack_ids })).toEqual({ status: 'success', action: 'ack', count: 2 });
    expect(await pendingAcks(stream)).toBe(0);
  });

  it('gives a message again that was not wanted', async () => {
    const { take } = await filled(1);
    const { messages } = await dataOf({ ...take, ack: 'defer' });
    const ack_ids = (messages as JsonObject[]).map(({ ack_id }) => ack_id ?? null);
    await call({ operation: 'js_ack', ack_ids, action: 'nak' });
    expect(await dataOf({ ...take, timeout_ms: 5_000, batch: 1 })).toMatchObject({ messages: [{ delivered: 2 }] });
  });

  it('gives only the fields that are asked for', async () => {
    const { take } = await filled(1);
    expect(await dataOf({ ...take, fields: ['n'] })).toMatchObject({ messages: [{ data: { n: 0 } }] });
    const [message] = (await dataOf({ ...(await filled(1)).take, fields: ['n'] }))['messages'] as JsonObject[];
    expect(message?.['data']).toEqual({ n: 0 });
  });

  it('takes no handle for an acknowledgement that is not one', async () => {
    await expect(call({ operation: 'js_ack', ack_ids: ['orders.created'] })).rejects.toThrow('is not an ack_id');
  });

  it.each([
    [{ seq: 1 }, { status: 'success', seq: 1, data: { n: 0 } }],
    [{ last: true }, { status: 'success', seq: 2, data: { n: 1 } }],
    [{ seq: 99 }, { status: 'not_found', data: null }],
  ])('shows one message: %o', async (which, expected) => {
    const { stream } = await filled(2);
    expect(await dataOf({ operation: 'js_get_msg', stream, ...which })).toMatchObject(expected);
  });

  it('tells about itself', async () => {
    const { stream } = await filled(2);
    expect(await dataOf({ operation: 'js_stream_info', stream })).toMatchObject({
      config: { name: stream },
      state: { messages: 2, first_seq: 1, last_seq: 2, consumer_count: 1 },
    });
  });

  it('that is not there is not found', async () => {
    await expect(call({ operation: 'js_stream_info', stream: 'ABSENT' })).rejects.toMatchObject({
      info: { kind: 'not_found', retryable: false },
    });
  });
});

describe('a nats step', () => {
  it('names the operations there are', async () => {
    await expect(call({ operation: 'object_get' })).rejects.toThrow(
      /operation must be one of publish, js_publish, kv_get/,
    );
  });

  it('that nobody answers can be tried again', async () => {
    await expect(
      tool.run(toolCall({ url: 'nats://127.0.0.1:1', operation: 'kv_get', bucket: 'b', key: 'k' })),
    ).rejects.toMatchObject({
      info: { kind: 'connection', retryable: true, code: 'CONN_REFUSED' },
    });
  });

  it('with a wrong password is not let in, and does not tell the password', async () => {
    const guarded = await startTestNats({ login: { user: 'ann', password: 'right-password' } });
    const wrong = { url: `127.0.0.1:${guarded.port}`, auth: { user: 'ann', password: 'wrong-password' } };
    await expect(tool.run(toolCall({ ...wrong, operation: 'publish', subject: 'a', data: 1 }))).rejects.toSatisfy(
      (error) =>
        error instanceof Error && !error.message.includes('wrong-password') && JSON.stringify(error).includes('"auth"'),
    );
    expect(await tool.run(toolCall({ url: guarded.url, operation: 'publish', subject: 'a', data: 1 }))).toMatchObject({
      status: 'success',
    });
    await guarded.stop();
  });

  it('ends when its time is over', async () => {
    const { stream, consumer } = await freshStream();
    expect(await call({ operation: 'js_consume', stream, consumer, timeout_ms: 5_000, timeout: 0.05 })).toMatchObject({
      status: 'timeout',
      error_info: { kind: 'timeout', retryable: true },
    });
  });

  it('ends when it is cancelled', async () => {
    const { stream, consumer } = await freshStream();
    const cancel = new AbortController();
    const waiting = call({ operation: 'js_consume', stream, consumer, timeout_ms: 5_000 }, { signal: cancel.signal });
    cancel.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
  });

  it('connects anew after NATS was away', async () => {
    const own = await startTestNats();
    const say = () => tool.run(toolCall({ url: own.url, operation: 'publish', subject: 'a', data: 1 }));
    await say();
    await own.kill();
    await expect(say()).rejects.toMatchObject({ info: { retryable: true } });
    await own.restart();
    expect(await say()).toMatchObject({ status: 'success' });
    await own.stop();
  });
});

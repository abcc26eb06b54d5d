// Publishing with acknowledgements in flight, against a real JetStream: what it refuses, forgets or never answers must come back as a failure.
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, it, onTestFinished } from 'vitest';
import { type AckedPublisher, ackedPublisher } from '../../packages/server/src/stream/acks.js';
import { startTestNats, type TestNats } from '../support/nats.js';
import { withNats } from './support.js';

const BODY = Buffer.from('{}');

async function publisherTo(nats: TestNats, timeoutMs = 60_000): Promise<AckedPublisher> {
  const connection: NatsConnection = await connect({ servers: nats.url, reconnect: false });
  const publisher = ackedPublisher(connection, timeoutMs);
  onTestFinished(async () => {
    publisher.close();
    await connection.close();
  });
  return publisher;
}

const makeStream = (nats: TestNats, more: object = {}) =>
  withNats(nats, (_connection, manager) => manager.streams.add({ name: 'some', subjects: ['some.>'], ...more }));

it('many at once are each answered with their own number', async () => {
  const nats = await startTestNats();
  await makeStream(nats);
  const publisher = await publisherTo(nats);
  const acks = await Promise.all(
    Array.from({ length: 500 }, (_, n) => publisher.publish('some.thing', BODY, `id-${n}`)),
  );
  expect(acks.map(({ stream, seq }) => [stream, seq])).toEqual(acks.map((_, n) => ['some', n + 1]));
});

it('the same id again is a duplicate of the first', async () => {
  const nats = await startTestNats();
  await makeStream(nats);
  const publisher = await publisherTo(nats);
  await publisher.publish('some.thing', BODY, 'a');
  expect(await publisher.publish('some.thing', BODY, 'a')).toMatchObject({ seq: 1, duplicate: true });
});

it('a subject that no stream takes is refused', async () => {
  const publisher = await publisherTo(await startTestNats());
  await expect(publisher.publish('nobody.listens', BODY, 'a')).rejects.toThrow('no stream takes the message');
});

it('what JetStream refuses comes back with its reason', async () => {
  const nats = await startTestNats();
  await makeStream(nats, { max_msg_size: 10 });
  const publisher = await publisherTo(nats);
  await expect(publisher.publish('some.thing', Buffer.alloc(1_000), 'a')).rejects.toThrow(/size exceeds/);
});

it('what is under way when NATS dies fails', async () => {
  const nats = await startTestNats();
  await makeStream(nats);
  const publisher = await publisherTo(nats);
  await nats.freeze();
  const lost = publisher.publish('some.thing', BODY, 'a');
  lost.catch(() => undefined);
  await nats.kill();
  await expect(lost).rejects.toThrow();
  await expect(publisher.publish('some.thing', BODY, 'b')).rejects.toThrow();
});

it('what is never answered fails', async () => {
  const nats = await startTestNats();
  await makeStream(nats);
  const publisher = await publisherTo(nats, 100);
  await nats.freeze();
  await expect(publisher.publish('some.thing', BODY, 'a')).rejects.toThrow(
    'did not acknowledge a message within 0.1 s',
  );
});

// Publishing to JetStream with the acknowledgements on one inbox of our own. The library's publish makes a timer and an error object for every
// message it sends; for a stream of many thousand events a second that would be most of the work.
import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';

export interface Ack {
  readonly stream: string;
  readonly seq: number;
  /** JetStream has a message of this id already, under `seq`. */
  readonly duplicate?: boolean;
}

export interface AckedPublisher {
  /** Rejects when JetStream refuses the message, does not answer in time, or cannot be reached any more. */
  publish(subject: string, body: Uint8Array, id: string): Promise<Ack>;
  close(): void;
}

interface Waiting {
  readonly since: number;
  resolve(ack: Ack): void;
  reject(error: Error): void;
}

const LOOK_MS = 1_000;

export function ackedPublisher(connection: NatsConnection, timeoutMs: number): AckedPublisher {
  const inbox = `${createInbox()}.`;
  /** In the order in which they were sent. */
  const waiting = new Map<string, Waiting>();
  let sent = 0;

  const failAll = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const subscription = connection.subscribe(`${inbox}*`, {
    callback(error, message) {
      if (error !== null) return failAll(error);
      const token = message.subject.slice(inbox.length);
      const answered = waiting.get(token);
      waiting.delete(token);
      if (answered === undefined) return;
      const answer = readAck(message);
      if (answer instanceof Error) answered.reject(answer);
      else answered.resolve(answer);
    },
  });
  const timer = setInterval(() => {
    for (const [token, { since, reject }] of waiting) {
      if (performance.now() - since < timeoutMs) return;
      waiting.delete(token);
      reject(new Error(`JetStream did not acknowledge a message within ${timeoutMs / 1000} s`));
    }
  }, LOOK_MS);
  void connection.closed().then((error) => failAll(error ?? new Error('the connection to NATS was closed')));

  return {
    publish: (subject, body, id) =>
      new Promise((resolve, reject) => {
        const token = (sent++).toString(36);
        waiting.set(token, { since: performance.now(), resolve, reject });
        const header = headers();
        header.set('Nats-Msg-Id', id);
        try {
          connection.publish(subject, body, { reply: inbox + token, headers: header });
        } catch (error) {
          waiting.delete(token);
          reject(error);
        }
      }),
    close() {
      clearInterval(timer);
      if (!connection.isClosed()) subscription.unsubscribe();
      failAll(new Error('nobody waits for acknowledgements any more'));
    },
  };
}

function readAck(message: Msg): Ack | Error {
  if (message.data.length === 0 && message.headers?.code === 503) return new Error('no stream takes the message');
  const answer = message.json<Ack & { readonly error?: { readonly description?: string } }>();
  return answer.error === undefined ? answer : new Error(answer.error.description ?? 'JetStream refused a message');
}

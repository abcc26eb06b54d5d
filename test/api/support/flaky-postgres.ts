// A way to Postgres that breaks at the worst moment: the statement is committed, and its answer is lost.
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';

export interface FlakyPostgres {
  readonly url: string;
  /** How many answers were lost. */
  readonly lost: number;
  /** Loses the answer to the next statement that holds this text, and the connection with it. */
  loseAnswerTo(text: string): void;
  close(): Promise<void>;
}

/** `ReadyForQuery` outside a transaction: what Postgres says when a statement is committed. */
const COMMITTED = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export async function flakyPostgres(url: string): Promise<FlakyPostgres> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let marker: string | undefined;
  let lost = 0;

  const server: Server = createServer((client) => {
    const postgres = dial(Number(target.port), target.hostname);
    let doomed = false;
    for (const [one, other] of [
      [client, postgres],
      [postgres, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    client.on('data', (sent) => {
      if (marker !== undefined && sent.includes(marker)) {
        doomed = true;
        marker = undefined;
      }
      postgres.write(sent);
    });
    postgres.on('data', (answer) => {
      if (!doomed) client.write(answer);
      else if (answer.subarray(-COMMITTED.length).equals(COMMITTED)) {
        lost++;
        client.destroy();
      }
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const flaky = new URL(url);
  flaky.hostname = '127.0.0.1';
  flaky.port = String((server.address() as AddressInfo).port);
  return {
    url: flaky.href,
    get lost() {
      return lost;
    },
    loseAnswerTo(text) {
      marker = text;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

// A door to Postgres that stays where it is, while what is behind it goes away and comes back.
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';

export interface Door {
  readonly port: number;
  /** Where new connections go from now on. */
  lead(port: number): void;
  /** Nobody gets through any more; whoever is inside is thrown out. */
  shut(): void;
  open(): void;
  close(): Promise<void>;
}

export async function openDoor(target: number): Promise<Door> {
  const sockets = new Set<Socket>();
  let behind = target;
  let isShut = false;
  const throwOut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((inside) => {
    if (isShut) {
      inside.destroy();
      return;
    }
    const outside = dial(behind, '127.0.0.1');
    for (const [socket, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    lead(port) {
      behind = port;
    },
    shut() {
      isShut = true;
      throwOut();
    },
    open() {
      isShut = false;
    },
    async close() {
      throwOut();
      server.close();
      await once(server, 'close');
    },
  };
}

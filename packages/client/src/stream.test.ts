import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient, type StreamMessage, type StreamOptions } from './index.js';

type Handler = (response: ServerResponse, request: IncomingMessage) => void;

let server: Server;
let baseUrl: string;
let requests: IncomingMessage[];
/** One per connection, in order; a connection without one fails the test. */
let script: Handler[];

beforeEach(async () => {
  requests = [];
  script = [];
  server = createServer((request, response) => {
    requests.push(request);
    const handler = script.shift() ?? ((r) => r.writeHead(418).end());
    handler(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const FAST: StreamOptions = { backoffMs: 1, maxBackoffMs: 2 };

function follow(options: StreamOptions = {}): AsyncIterable<StreamMessage> {
  return createClient({ baseUrl, token: 't' }).stream('7', { ...FAST, ...options });
}

async function collect(messages: AsyncIterable<StreamMessage>): Promise<string[]> {
  const names: string[] = [];
  for await (const message of messages) names.push(describeMessage(message));
  return names;
}

function describeMessage(message: StreamMessage): string {
  return message.event === 'event' ? `${message.id}:${message.data.event_type}` : message.data.status;
}

function open(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
}

function event(version: number, type = 'step.enter'): string {
  return `id: ${100 + version}\nevent: event\ndata: {"event_type":"${type}","event_id":"${100 + version}","stream_version":${version}}\n\n`;
}

function status(name: string): string {
  return `event: status\ndata: {"execution_id":"7","status":"${name}"}\n\n`;
}

const sends =
  (...texts: string[]): Handler =>
  (response) => {
    open(response).end(texts.join(''));
  };

describe('one connection', () => {
  it('yields events and statuses and ends with a terminal status', async () => {
    script = [
      sends(status('RUNNING'), event(1), ': keep-alive\n\n', event(2, 'step.exit'), status('COMPLETED'), event(3)),
    ];
    expect(await collect(follow())).toEqual(['RUNNING', '101:step.enter', '102:step.exit', 'COMPLETED']);
    expect(requests[0]?.url).toBe('/api/executions/7/stream');
    expect(requests[0]?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer t' });
  });

  it.each(['FAILED', 'CANCELLED'])('%s is terminal too', async (name) => {
    script = [sends(status(name))];
    expect(await collect(follow())).toEqual([name]);
  });

  it('starts after the event it is told', async () => {
    script = [sends(status('COMPLETED'))];
    await collect(follow({ lastEventId: '105' }));
    expect(requests[0]?.headers['last-event-id']).toBe('105');
  });

  it('puts a character together that the network cut in two', async () => {
    const bytes = Buffer.from(event(1, 'grüße🙂') + status('COMPLETED'));
    script = [
      async (response) => {
        open(response);
        for (const byte of bytes) await new Promise((sent) => response.write(Uint8Array.of(byte), sent));
        response.end();
      },
    ];
    expect(await collect(follow())).toEqual(['101:grüße🙂', 'COMPLETED']);
  });

  it('ignores names it does not know', async () => {
    script = [sends('event: weather\ndata: sunny\n\n', status('COMPLETED'))];
    expect(await collect(follow())).toEqual(['COMPLETED']);
  });

  it('ends when the server says there is nothing to come back for', async () => {
    script = [(response) => response.writeHead(204).end()];
    expect(await collect(follow())).toEqual([]);
  });
});

describe('reconnect', () => {
  it('continues after the last event when the connection ends', async () => {
    script = [sends(event(1), event(2)), sends(event(3), status('COMPLETED'))];
    expect(await collect(follow())).toEqual(['101:step.enter', '102:step.enter', '103:step.enter', 'COMPLETED']);
    expect(requests.map((request) => request.headers['last-event-id'])).toEqual([undefined, '102']);
  });

  it('continues when the connection breaks', async () => {
    script = [
      (response) => {
        open(response).write(event(1), () => response.destroy());
      },
      sends(event(2), status('COMPLETED')),
    ];
    expect(await collect(follow())).toEqual(['101:step.enter', '102:step.enter', 'COMPLETED']);
  });

  it('drops events that the server sends twice', async () => {
    script = [sends(event(1), event(2)), sends(event(1), event(2), event(3), status('COMPLETED'))];
    expect(await collect(follow())).toEqual(['101:step.enter', '102:step.enter', '103:step.enter', 'COMPLETED']);
  });

  it('tries again while the server is overloaded', async () => {
    const overloaded: Handler = (response) => response.writeHead(503, { 'retry-after': '0' }).end();
    script = [overloaded, overloaded, sends(status('COMPLETED'))];
    expect(await collect(follow())).toEqual(['COMPLETED']);
  });

  it('hangs up on a connection that went silent', async () => {
    script = [(response) => open(response).write(event(1)), sends(status('COMPLETED'))];
    expect(await collect(follow({ idleTimeoutMs: 30 }))).toEqual(['101:step.enter', 'COMPLETED']);
  });
});

describe('errors', () => {
  it('that a retry cannot cure reach the consumer', async () => {
    script = [(response) => response.writeHead(404).end('{"error":"Execution not found: 7","status":404}')];
    await expect(collect(follow())).rejects.toMatchObject({ name: 'ApiError', status: 404 });
  });

  it('include an answer that is not a stream', async () => {
    script = [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')];
    await expect(collect(follow())).rejects.toMatchObject({ name: 'ApiError', code: 'invalid_response' });
  });

  it('include a message that is not JSON', async () => {
    script = [sends('event: event\ndata: {"a"\n\n')];
    await expect(collect(follow())).rejects.toMatchObject({ name: 'ApiError', code: 'invalid_response' });
  });
});

describe('leaving', () => {
  it('by abort ends the iteration quietly and closes the connection', async () => {
    const controller = new AbortController();
    const closed = new Promise((resolve) => {
      script = [
        (response) => {
          response.on('close', resolve);
          open(response).write(event(1));
        },
      ];
    });
    const names: string[] = [];
    for await (const message of follow({ signal: controller.signal })) {
      names.push(describeMessage(message));
      // From outside, while the iterator waits for the next message.
      setImmediate(() => controller.abort());
    }
    expect(names).toEqual(['101:step.enter']);
    await closed;
  });

  it('by abort ends a pause between two tries', async () => {
    const controller = new AbortController();
    script = [
      (response) => {
        response.on('close', () => setImmediate(() => controller.abort()));
        response.writeHead(503, { 'retry-after': '3600' }).end();
      },
    ];
    expect(await collect(follow({ signal: controller.signal }))).toEqual([]);
  });

  it('does not connect at all when it is aborted from the start', async () => {
    expect(await collect(follow({ signal: AbortSignal.abort() }))).toEqual([]);
    expect(requests).toEqual([]);
  });

  it('by break closes the connection', async () => {
    const closed = new Promise((resolve) => {
      script = [
        (response) => {
          response.on('close', resolve);
          open(response).write(event(1));
        },
      ];
    });
    for await (const _ of follow()) break;
    await closed;
  });
});

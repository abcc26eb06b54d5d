import { afterEach, expect, it } from 'vitest';
import { controlPlane } from '../control-plane.fixture.js';
import { start, stopAll } from '../worker.fixture.js';
import { noopTool } from './noop.js';

afterEach(stopAll);

it('a worker that stops closes its tools, also when one of them cannot be closed', async () => {
  const closed: string[] = [];
  const closing = (kind: string, close: () => Promise<void>) => ({ ...noopTool, kind, close });
  const worker = start(controlPlane(), {
    tools: [
      noopTool,
      closing('broken', () => Promise.reject(new Error('no'))),
      closing('kept', async () => void closed.push('kept')),
    ],
  });
  await worker.stop();
  expect(closed).toEqual(['kept']);
});

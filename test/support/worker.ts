// A real worker in this process, for tests that want steps to run. Stopped when the file ends.
import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import type { NoetlClient } from '../../packages/client/src/index.js';
import { silentLog, startWorker, type Worker, type WorkerOptions } from '../../packages/worker/src/index.js';

const workers = new Set<Worker>();

afterAll(async () => {
  await Promise.all([...workers].map((worker) => worker.stop()));
  workers.clear();
});

export function startTestWorker(client: NoetlClient, options: Partial<WorkerOptions> = {}): Worker {
  const worker = startWorker({
    api: client,
    workerId: `worker-${randomUUID().slice(0, 8)}`,
    pools: ['shared'],
    log: silentLog,
    ...options,
  });
  workers.add(worker);
  void worker.closed.then(() => workers.delete(worker));
  return worker;
}

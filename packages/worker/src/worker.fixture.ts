// Starts workers for tests and sees to it that none is left behind.
import type { ControlPlane } from './control-plane.fixture.js';
import { silentLog } from './log.js';
import { startWorker, type Worker, type WorkerOptions } from './runtime.js';

const workers: Worker[] = [];

export function start(plane: ControlPlane, options: Partial<WorkerOptions> = {}): Worker {
  const worker = startWorker({
    api: plane.api,
    workerId: 'w1',
    pools: ['default'],
    heartbeatMs: 10,
    log: silentLog,
    ...options,
  });
  workers.push(worker);
  return worker;
}

export async function stopAll(): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
}

// `noetl worker`: executes commands of a server that runs elsewhere. Ctrl-C finishes what is running and takes nothing new.
import { hostname } from 'node:os';
import { connectToControlPlane, startWorker } from '@noetl/worker';
import { type ConnectionOptions, serverUrl } from '../connection.js';
import { EXIT, type ExitCode } from '../errors.js';
import { catchInterrupt, whenAborted } from '../signals.js';
import { stderrLogger } from '../stack/logger.js';
import { say } from '../terminal.js';

export interface WorkerOptions extends ConnectionOptions {
  readonly pool: readonly string[];
  readonly concurrency: number;
  readonly name?: string;
}

export async function worker(options: WorkerOptions): Promise<ExitCode> {
  const url = serverUrl(options);
  const interrupt = catchInterrupt(() => {});
  const server = connectToControlPlane({ url, token: process.env['NOETL_API_TOKEN'] || undefined });
  const running = startWorker({
    api: server.api,
    workerId: options.name ?? `${hostname()}-${process.pid}`,
    pools: options.pool,
    concurrency: options.concurrency,
    log: stderrLogger(),
  });
  try {
    say(`Working for ${url}, pool ${options.pool.join(', ')}, ${options.concurrency} at a time`);
    await Promise.race([whenAborted(interrupt.signal), running.closed]);
    if (interrupt.signal.aborted) await running.drain();
    return EXIT.ok;
  } finally {
    await running.stop();
    await server.close();
    interrupt.dispose();
  }
}

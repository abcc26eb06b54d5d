// `noetl worker`: executes commands of a server that runs elsewhere. Ctrl-C finishes what is running and takes nothing new.
import { hostname } from 'node:os';
import {
  builtinTools,
  connectToControlPlane,
  createWorkerMetrics,
  natsWakeUps,
  startHealthServer,
  startWorker,
  type WakeUps,
} from '@noetl/worker';
import { type ConnectionOptions, serverUrl } from '../connection.js';
import { EXIT, type ExitCode, messageOf, usageError } from '../errors.js';
import { catchInterrupt, whenAborted } from '../signals.js';
import { stderrLogger } from '../stack/logger.js';
import { say } from '../terminal.js';
import { VERSION } from '../version.js';

export interface WorkerOptions extends ConnectionOptions {
  readonly pool: readonly string[];
  readonly concurrency: number;
  readonly name?: string;
  /** Serve liveness, readiness and metrics here. */
  readonly healthPort?: number;
}

export async function worker(options: WorkerOptions): Promise<ExitCode> {
  const url = serverUrl(options);
  const interrupt = catchInterrupt(() => {});
  const server = connectToControlPlane({ url, token: process.env['NOETL_API_TOKEN'] || undefined });
  // Scripts that a playbook names by file are looked for below the folder the worker was started in.
  const tools = builtinTools({ python: { scriptRoot: process.cwd() } });
  const metrics = createWorkerMetrics({ kinds: tools.map((tool) => tool.kind), version: VERSION });
  const wakeUps = await commandWakeUps(options.pool);
  const running = startWorker({
    api: server.api,
    tools,
    metrics,
    ...(wakeUps === undefined ? {} : { wakeUps }),
    workerId: options.name ?? `${hostname()}-${process.pid}`,
    pools: options.pool,
    concurrency: options.concurrency,
    log: stderrLogger(),
  });
  const health =
    options.healthPort === undefined
      ? undefined
      : await startHealthServer({ port: options.healthPort, isReady: () => running.phase === 'ready', metrics });
  try {
    if (health !== undefined) say(`Health and metrics on http://127.0.0.1:${health.port}`);
    say(`Working for ${url}, pool ${options.pool.join(', ')}, ${options.concurrency} at a time`);
    await Promise.race([whenAborted(interrupt.signal), running.closed]);
    if (interrupt.signal.aborted) await running.drain();
    return EXIT.ok;
  } finally {
    await health?.close();
    await running.stop();
    await wakeUps?.close();
    await server.close();
    interrupt.dispose();
  }
}

/** With `NOETL_COMMAND_TRANSPORT=nats` the worker listens for commands on NATS instead of keeping a long poll open. */
async function commandWakeUps(pools: readonly string[]): Promise<WakeUps | undefined> {
  if (process.env['NOETL_COMMAND_TRANSPORT']?.trim().toLowerCase() !== 'nats') return undefined;
  const { messagingSettings } = await import('@noetl/server');
  try {
    const { nats } = messagingSettings(process.env);
    return nats && natsWakeUps({ address: nats, pools, log: stderrLogger() });
  } catch (error) {
    throw usageError(messageOf(error));
  }
}

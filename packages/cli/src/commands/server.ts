// `noetl server`: the control plane alone, for deployments where database and workers run elsewhere.
import { hasExternalDatabase, loadServerConfig, startServer } from '@noetl/server';
import { EXIT, type ExitCode, usageError } from '../errors.js';
import { catchInterrupt, whenAborted } from '../signals.js';
import { keepHeapSmall } from '../stack/heap.js';
import { stderrLogger } from '../stack/logger.js';
import { asUnreachable } from '../stack/unreachable.js';
import { say } from '../terminal.js';

export interface ServerOptions {
  readonly host?: string;
  readonly port?: number;
  readonly insecure?: boolean;
}

export async function server(options: ServerOptions): Promise<ExitCode> {
  if (!hasExternalDatabase(process.env)) {
    throw usageError(
      'No database is configured.',
      'Set DATABASE_URL (or POSTGRES_HOST …), or use `noetl up`, which brings its own.',
    );
  }
  keepHeapSmall();
  const config = loadServerConfig(process.env, options);
  const interrupt = catchInterrupt(() => {});
  const running = await startServer(config, stderrLogger()).catch((error: unknown) => {
    throw asUnreachable(error, config.shards.join(', '));
  });
  try {
    say(`Serving ${running.url}`);
    await whenAborted(interrupt.signal);
    return EXIT.ok;
  } finally {
    await running.close();
    interrupt.dispose();
  }
}

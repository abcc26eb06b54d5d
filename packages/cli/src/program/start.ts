import { type Command, Option } from 'commander';
import type { ExitCode } from '../errors.js';
import {
  atLeast,
  concurrency,
  dataDir,
  examples,
  json,
  payload,
  payloadFile,
  port,
  replaceDefault,
  server,
  timeout,
} from './options.js';

export function addStartCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('run')
    .argument('<file>', 'a playbook in YAML (- for stdin)')
    .description('Run a playbook and show its steps; start database, server and worker when none run.')
    .addOption(payload())
    .addOption(payloadFile())
    .addOption(timeout())
    .addOption(json())
    .option('--keep', 'leave everything running after the run, until Ctrl-C')
    .addOption(dataDir())
    .addOption(server())
    .addHelpText(
      'after',
      examples(
        'noetl run examples/hello_world.yaml',
        'noetl run examples/branching.yaml --payload amount=250 --json',
        'noetl run long.yaml --timeout 5m --keep',
      ),
    )
    .action(async (file: string, options) => finish(await (await import('../commands/run.js')).run(file, options)));

  program
    .command('up')
    .description('Start database, server and worker in one process, until Ctrl-C.')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addOption(new Option('--port <port>', 'port to listen on').default(8082).argParser(port))
    .addOption(dataDir())
    .addOption(new Option('--workers <n>', 'workers to start').default(1).argParser(atLeast(0)))
    .option('--no-worker', 'start none')
    .addOption(concurrency())
    .option('--insecure', 'listen beyond this machine without a token')
    .option('--verbose', 'logs on stderr instead of in the data dir')
    .addHelpText(
      'after',
      examples(
        'noetl up',
        'noetl up --port 9000 --data-dir /srv/noetl --workers 4',
        'DATABASE_URL=postgresql://… noetl up',
      ),
    )
    .action(async (options) => finish(await (await import('../commands/up.js')).up(options)));

  program
    .command('server')
    .description('Start the server alone, on the database that DATABASE_URL or POSTGRES_* names.')
    .option('--host <address>', 'address to listen on')
    .addOption(new Option('--port <port>', 'port to listen on').argParser(port))
    .option('--insecure', 'listen beyond this machine without a token')
    .addHelpText(
      'after',
      examples('DATABASE_URL=postgresql://… NOETL_API_TOKEN=… noetl server --host 0.0.0.0 --port 8082'),
    )
    .action(async (options) => finish(await (await import('../commands/server.js')).server(options)));

  program
    .command('worker')
    .description('Start a worker for a server that runs elsewhere.')
    .addOption(server())
    .addOption(new Option('--pool <name>', 'pool to serve; repeatable').default(['shared']).argParser(replaceDefault()))
    .addOption(concurrency())
    .option('--name <name>', 'name of this worker (default: host and pid)')
    .addOption(
      new Option('--health-port <port>', 'serve /healthz, /readyz and /metrics on this loopback port').argParser(
        atLeast(0),
      ),
    )
    .addOption(dataDir())
    .addHelpText('after', examples('noetl worker --server http://10.0.0.5:8082 --pool shared --concurrency 8'))
    .action(async (options) => finish(await (await import('../commands/worker.js')).worker(options)));
}

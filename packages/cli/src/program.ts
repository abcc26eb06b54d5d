// The command tree: names, options, help. What a command does lives in commands/, loaded only when it runs, so that `status` does
// not pay for a server it never starts.
import { Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_DATA_DIR, DEFAULT_SERVER_URL } from './connection-defaults.js';
import type { ExitCode } from './errors.js';

export function buildProgram(version: string, finish: (code: ExitCode) => void): Command {
  const program = new Command('noetl')
    .description('Run playbooks, and everything they need.')
    .version(version, '-V, --version')
    // `catalog delete --version 2` is an option of the command, not a question about this program.
    .enablePositionalOptions()
    .showHelpAfterError('(--help shows what is possible)')
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .addHelpText('after', EXAMPLES_ROOT);

  addStartCommands(program, finish);
  addExecutionCommands(program, finish);
  addCatalogCommands(program, finish);
  addDatabaseCommands(program, finish);
  return program;
}

const EXAMPLES_ROOT = `
Examples:
  noetl run examples/hello_world.yaml          run a playbook, start what is needed
  noetl run hello.yaml --payload name=Ada      with an input
  noetl up                                     server, worker and database until Ctrl-C
  noetl exec samples/greet --wait              run a registered playbook, follow it
  noetl events 312047190466560000 --follow     watch an execution

Exit codes: 0 ok, 1 error, 2 usage or validation, 3 FAILED, 4 cancelled, 5 timeout, 6 unreachable, 7 unauthorised.
Environment: NOETL_SERVER_URL, NOETL_API_TOKEN, DATABASE_URL or POSTGRES_*, NOETL_LOG_LEVEL, NO_COLOR.`;

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

const dataDir = () => new Option('--data-dir <dir>', 'where the embedded database lives').default(DEFAULT_DATA_DIR);
const server = () =>
  new Option('--server <url>', `server to talk to (default: the one of the data dir, else ${DEFAULT_SERVER_URL})`);
const json = () => new Option('--json', 'one JSON document on stdout');
const payload = () =>
  new Option('-p, --payload <key=value>', 'an input; repeatable; the value is JSON, else text')
    .default([])
    .argParser(collect);
const payloadFile = () => new Option('--payload-file <file>', 'a JSON object with inputs (- for stdin)');
const timeout = () => new Option('--timeout <duration>', 'cancel after 30s, 5m or a number of seconds');
const concurrency = () =>
  new Option('--concurrency <n>', 'commands a worker runs at the same time').default(8).argParser(atLeast(1));

function addStartCommands(program: Command, finish: (code: ExitCode) => void): void {
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
    .action(async (file: string, options) => finish(await (await import('./commands/run.js')).run(file, options)));

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
    .action(async (options) => finish(await (await import('./commands/up.js')).up(options)));

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
    .action(async (options) => finish(await (await import('./commands/server.js')).server(options)));

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
    .action(async (options) => finish(await (await import('./commands/worker.js')).worker(options)));
}

function addExecutionCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('register')
    .argument('<file...>', 'playbooks in YAML')
    .description('Put playbooks into the catalog.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl register examples/*.yaml'))
    .action(async (files: string[], options) =>
      finish(await (await import('./commands/catalog.js')).register(files, options)),
    );

  program
    .command('exec')
    .argument('<path>', 'catalog path of a playbook')
    .description('Start a registered playbook; prints the execution id.')
    .addOption(payload())
    .addOption(payloadFile())
    .addOption(new Option('--revision <n>', 'catalog version (default: the newest)').argParser(atLeast(1)))
    .option('--wait', 'follow it to its end, as run does')
    .addOption(timeout())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples('noetl exec examples/hello_world', 'noetl exec examples/branching --payload amount=5 --wait'),
    )
    .action(async (path: string, options) =>
      finish(await (await import('./commands/executions.js')).exec(path, options)),
    );

  program
    .command('list')
    .argument('[what]', 'executions or playbooks', 'executions')
    .description('List executions, newest first, or the playbooks of the catalog.')
    .addOption(new Option('--limit <n>', 'at most this many').default(20).argParser(atLeast(1)))
    .option('--status <status>', 'only executions in this status')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl list', 'noetl list --status failed', 'noetl list playbooks'))
    .action(async (what: string, options) =>
      finish(await (await import('./commands/executions.js')).list(what, options)),
    );

  program
    .command('status')
    .argument('<id>', 'execution id')
    .description('Show where an execution is and, while it runs, what it waits for.')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl status 312047190466560000', 'noetl status 312047190466560000 --json'))
    .action(async (id: string, options) =>
      finish(await (await import('./commands/executions.js')).status(id, options)),
    );

  program
    .command('events')
    .argument('<id>', 'execution id')
    .description('Print the event log of an execution.')
    .option('-f, --follow', 'go on as events arrive, until the execution ends')
    .addOption(new Option('--page <n>', 'page to show').default(1).argParser(atLeast(1)))
    .addOption(new Option('--page-size <n>', 'events on a page').default(500).argParser(atLeast(1)))
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText(
      'after',
      examples('noetl events 312047190466560000', 'noetl events 312047190466560000 --follow --json'),
    )
    .action(async (id: string, options) =>
      finish(await (await import('./commands/executions.js')).events(id, options)),
    );

  program
    .command('cancel')
    .argument('<id>', 'execution id')
    .description('Cancel an execution and what it started.')
    .option('--reason <text>', 'kept in the log')
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl cancel 312047190466560000 --reason "wrong input"'))
    .action(async (id: string, options) =>
      finish(await (await import('./commands/executions.js')).cancel(id, options)),
    );
}

function addCatalogCommands(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('validate')
    .argument('<files...>', 'playbooks in YAML, or directories with some (- for stdin)')
    .description('Check playbooks without a server: every problem, with file, line and column.')
    .addOption(
      new Option('-o, --output <format>', 'how problems are written')
        .default('text')
        .choices(['text', 'github', 'json']),
    )
    .addHelpText(
      'after',
      examples(
        'noetl validate examples/hello_world.yaml',
        'noetl validate playbooks/ -o github                annotations in a GitHub workflow',
        'noetl validate playbooks/ -o json | jq length',
      ),
    )
    .action(async (files: string[], options) =>
      finish(await (await import('./commands/validate.js')).validate(files, options)),
    );

  const catalog = program
    .command('catalog')
    .description('Remove playbooks from the catalog, and bring them back.')
    .addHelpText(
      'after',
      examples('noetl catalog delete team/report --version 3', 'noetl catalog restore team/report'),
    );
  const one = () => new Option('--version <n>', 'this version only (default: all)').argParser(atLeast(1));
  catalog
    .command('delete')
    .argument('<path>', 'catalog path of a playbook')
    .description('Archive versions: the path no longer finds them; what runs goes on.')
    .addOption(one())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl catalog delete team/report', 'noetl catalog delete team/report --version 3'))
    .action(async (path: string, options) =>
      finish(await (await import('./commands/archive.js')).remove(path, options)),
    );
  catalog
    .command('restore')
    .argument('<path>', 'catalog path of a playbook')
    .description('Bring back archived versions.')
    .addOption(one())
    .addOption(json())
    .addOption(server())
    .addOption(dataDir())
    .addHelpText('after', examples('noetl catalog restore team/report'))
    .action(async (path: string, options) =>
      finish(await (await import('./commands/archive.js')).restore(path, options)),
    );
}

function addDatabaseCommands(program: Command, finish: (code: ExitCode) => void): void {
  const db = program
    .command('db')
    .description('Reach the embedded database.')
    .addHelpText('after', examples('noetl db url', 'noetl db psql'));
  db.command('url')
    .description('Print its address.')
    .addOption(json())
    .addOption(dataDir())
    .addHelpText('after', examples('psql "$(noetl db url)"'))
    .action(async (options) => finish(await (await import('./commands/db.js')).url(options)));
  db.command('psql')
    .argument('[args...]', 'arguments for psql, after --')
    .description('Open psql on it.')
    .addOption(dataDir())
    .addHelpText('after', examples('noetl db psql', 'noetl db psql -- -c "select count(*) from noetl.event"'))
    .action(async (args: string[], options) => finish(await (await import('./commands/db.js')).psql(args, options)));
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

/** Repeatable, where the first use replaces the default instead of adding to it. */
function replaceDefault(): (value: string) => string[] {
  const values: string[] = [];
  return (value) => {
    values.push(value);
    return [...values];
  };
}

function atLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < minimum) {
      throw new InvalidArgumentError(`It must be a whole number, at least ${minimum}.`);
    }
    return value;
  };
}

function port(text: string): number {
  const value = atLeast(0)(text);
  if (value > 65_535) throw new InvalidArgumentError('It must be at most 65535.');
  return value;
}

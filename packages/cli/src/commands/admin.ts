// `noetl admin rebuild`: does everything that follows from the log still follow from it? With --check it only looks.
import { parseId } from '@noetl/core';
import type { Drift, RebuildReport } from '@noetl/server';
import { EXIT, type ExitCode, usageError } from '../errors.js';
import { printJson } from '../print-json.js';
import { asUnreachable } from '../stack/unreachable.js';
import { paletteFor, sanitise, say } from '../terminal.js';
import { withDatabase } from './db.js';

export interface RebuildCommandOptions {
  readonly check?: boolean;
  readonly adopt?: boolean;
  readonly execution: readonly string[];
  readonly json?: boolean;
  readonly dataDir: string;
}

/** Lines shown of what differs; --json has them all. */
const SHOWN = 50;

export async function rebuild(options: RebuildCommandOptions): Promise<ExitCode> {
  const check = options.check === true;
  const ids = options.execution.map((text) => {
    const id = parseId(text);
    if (id === undefined) throw usageError(`"${text}" is not an execution id.`, '`noetl list` shows them.');
    return id;
  });
  const { loadServerConfig, rebuildReadModel } = await import('@noetl/server');
  const report = await withDatabase(options.dataDir, (databaseUrl) =>
    rebuildReadModel(loadServerConfig(process.env, databaseUrl === undefined ? {} : { databaseUrl }), {
      check,
      adopt: options.adopt === true,
      ...(ids.length === 0 ? {} : { ids }),
    }).catch((error: unknown) => {
      throw asUnreachable(error, databaseUrl ?? 'the database');
    }),
  );
  if (options.json === true) printJson({ ...report, repaired: !check });
  else show(report, check);
  const isClean = report.broken.length === 0 && (report.drift.length === 0 || !check);
  return isClean ? EXIT.ok : EXIT.error;
}

function show(report: RebuildReport, check: boolean): void {
  const paint = paletteFor(process.stdout);
  for (const drift of report.drift.slice(0, SHOWN)) process.stdout.write(`${driftLine(drift)}\n`);
  if (report.drift.length > SHOWN) process.stdout.write(`… and ${report.drift.length - SHOWN} more; --json has all\n`);
  for (const { execution_id, error } of report.broken) {
    process.stdout.write(`${paint.red('broken')}  ${execution_id}  ${sanitise(error)}\n`);
  }
  const looked = `${report.executions} executions, ${report.commands} commands, ${report.snapshots} snapshots`;
  if (report.drift.length === 0 && report.broken.length === 0) {
    say(`${paint.green('OK')}  ${looked}: everything follows from the log`);
  } else {
    const done = check
      ? 'differ from the log; `noetl admin rebuild` repairs them'
      : 'differed from the log and were repaired';
    say(`${looked}: ${report.drift.length} values ${done}`);
  }
}

function driftLine({ execution_id, table, key, field, stored, expected }: Drift): string {
  const row = key === execution_id ? execution_id : `${execution_id}  ${key}`;
  return sanitise(
    `${table}.${field}  ${row}  stored ${JSON.stringify(stored)}, the log says ${JSON.stringify(expected)}`,
  );
}

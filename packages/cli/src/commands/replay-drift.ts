// `noetl admin drift`: does what is stored about executions still say what their logs say, when they are replayed?
import type { DriftReport } from '@noetl/client';
import { type ConnectionOptions, connect } from '../connection.js';
import { EXIT, type ExitCode, usageError } from '../errors.js';
import { checkId } from '../execution-id.js';
import { printJson } from '../print-json.js';
import { type Palette, paletteFor, sanitise } from '../terminal.js';

export interface DriftOptions extends ConnectionOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

/** Lines shown of one execution; --json has them all. */
const SHOWN = 20;

export async function drift(id: string | undefined, options: DriftOptions): Promise<ExitCode> {
  if ((id === undefined) !== (options.all === true))
    throw usageError('Name an execution, or --all.', 'noetl admin drift 312047190466560000');
  return id === undefined ? driftOfAll(options) : driftOfOne(id, options);
}

async function driftOfOne(id: string, options: DriftOptions): Promise<ExitCode> {
  const report = await connect(options).drift(checkId(id));
  if (options.json === true) printJson(report);
  else process.stdout.write(reportText(report, paletteFor(process.stdout)));
  return report.outcome === 'differs' ? EXIT.error : EXIT.ok;
}

async function driftOfAll(options: DriftOptions): Promise<ExitCode> {
  const client = connect(options);
  const paint = paletteFor(process.stdout);
  const total = { checked: 0, matched: 0, differs: 0, empty: 0 };
  const drifted: DriftReport[] = [];
  let after: string | null = '0';
  while (after !== null) {
    const page: Awaited<ReturnType<typeof client.driftPage>> = await client.driftPage({ after, limit: 100 });
    total.checked += page.checked;
    total.matched += page.matched;
    total.differs += page.differs;
    total.empty += page.empty;
    if (options.json === true) drifted.push(...page.drifted);
    else for (const report of page.drifted) process.stdout.write(reportText(report, paint));
    after = page.next;
  }
  if (options.json === true) printJson({ ...total, drifted });
  else if (total.checked === 0) process.stdout.write('There are no executions: nothing was compared.\n');
  else {
    const empty = total.empty === 0 ? '' : `, ${total.empty} without anything to compare`;
    process.stdout.write(
      `${total.checked} executions: ${total.matched} match their logs, ${total.differs} differ${empty}\n`,
    );
  }
  return total.differs > 0 ? EXIT.error : EXIT.ok;
}

function reportText({ execution_id, events, outcome, surfaces, differences }: DriftReport, paint: Palette): string {
  switch (outcome) {
    case 'empty':
      return `${paint.yellow('empty')}    ${execution_id}  neither a log nor rows: nothing was compared\n`;
    case 'matched': {
      const compared = Object.entries(surfaces)
        .filter(([, surface]) => surface.compared > 0)
        .map(([name, surface]) => `${name.replace('_', ' ')} ${surface.compared}`);
      return `${paint.green('matches')}  ${execution_id}  ${events} events; compared: ${compared.join(', ')}\n`;
    }
    case 'differs': {
      const lines = differences.slice(0, SHOWN).map(({ surface, key, field, replayed, live }) => {
        const row = key === execution_id ? '' : `${key} `;
        return sanitise(
          `  ${surface}  ${row}${field}: stored ${JSON.stringify(live)}, replay says ${JSON.stringify(replayed)}`,
        );
      });
      const more = differences.length > SHOWN ? [`  … and ${differences.length - SHOWN} more; --json has all`] : [];
      return `${[`${paint.red('differs')}  ${execution_id}  ${events} events`, ...lines, ...more].join('\n')}\n`;
    }
  }
}

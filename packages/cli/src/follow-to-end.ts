// Shows the steps of an execution as they happen, then its result; Ctrl-C stops watching, not the execution.
import type { NoetlClient } from '@noetl/client';
import type { ExitCode } from './errors.js';
import { followExecution } from './follow.js';
import { reportOutcome } from './report.js';
import { catchInterrupt } from './signals.js';
import { paletteFor } from './terminal.js';
import { openTreeView } from './tree/view.js';

export interface Followed {
  readonly executionId: string;
  readonly path: string;
  readonly timeoutMs: number | undefined;
}

export async function followToEnd(client: NoetlClient, followed: Followed, json: boolean): Promise<ExitCode> {
  const interrupt = catchInterrupt(() => {});
  try {
    const view = openTreeView(process.stderr, paletteFor(process.stderr));
    const outcome = await followExecution({ client, ...followed, view, interrupt: interrupt.signal });
    return await reportOutcome(client, outcome, json);
  } finally {
    interrupt.dispose();
  }
}

// The last thing `run` and `exec --wait` print: the result on stdout, the verdict on stderr; with --json one document instead.
import type { NoetlClient } from '@noetl/client';
import { formatDuration } from './duration.js';
import type { ExitCode } from './errors.js';
import { exitCodeOf, type Outcome } from './follow.js';
import { prettyJson, printJson } from './print-json.js';
import { paletteFor, sanitise, say } from './terminal.js';

export async function reportOutcome(
  client: Pick<NoetlClient, 'result'>,
  outcome: Outcome,
  json: boolean,
): Promise<ExitCode> {
  const { tree } = outcome;
  const code = exitCodeOf(outcome);
  const { status, result, steps, error } = await client.result(tree.executionId);
  if (json) {
    printJson({ execution_id: tree.executionId, status, result, steps, ...(error === undefined ? {} : { error }) });
    return code;
  }
  if (status === 'COMPLETED' && result !== null) process.stdout.write(`${prettyJson(result)}\n`);

  const paint = paletteFor(process.stderr);
  const elapsed =
    tree.startedAt === undefined || tree.endedAt === undefined ? '' : formatDuration(tree.endedAt - tree.startedAt);
  const tail = [elapsed, tree.executionId].filter((part) => part !== '').join('  ');
  switch (status) {
    case 'COMPLETED':
      say(`${paint.green('COMPLETED')}  ${paint.dim(tail)}`);
      break;
    case 'FAILED':
      say(`${paint.red('FAILED')}  ${paint.dim(tail)}`);
      for (const line of failureLines(outcome, error)) say(line);
      break;
    default: {
      const why = { timeout: 'timed out', interrupt: 'interrupted' };
      const reason = outcome.gaveUp === undefined ? '' : `${why[outcome.gaveUp]}  `;
      say(`${paint.yellow(status)}  ${reason}${paint.dim(tail)}`);
    }
  }
  return code;
}

type Failure = Awaited<ReturnType<NoetlClient['result']>>['error'];

/** The step, the error and the event that recorded it. */
export function failureLines({ tree }: Outcome, error: Failure): string[] {
  const failed = tree.steps.find((step) => step.state === 'failed' && step.error !== undefined);
  const step = error?.step ?? failed?.name;
  const message = error?.message ?? failed?.error ?? tree.error ?? 'no error was recorded';
  const event = error?.event_id ?? failed?.errorEventId;
  return [
    ...(step === undefined ? [] : [`  step   ${sanitise(step)}`]),
    `  error  ${sanitise(message).split('\n').join('\n         ')}`,
    ...(event === undefined ? [] : [`  event  ${event}`]),
  ];
}

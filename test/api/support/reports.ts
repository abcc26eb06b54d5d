// What a worker says when it is done, built by hand so that a test decides what is said, when and under which claim.
import type { CommandReport, LeasedCommand, NoetlClient, ReportedEvent } from '../../../packages/client/src/index.js';
import type { Json } from '../../../packages/core/src/index.js';

const AT = '2026-01-02T03:04:05.678Z';

export function done(command: LeasedCommand, data: Json = { ok: true }): CommandReport {
  return reportOf(command, [
    event('command.started', 'STARTED', { command_id: command.command_id }),
    event('call.done', 'COMPLETED', {
      command_id: command.command_id,
      call_index: 0,
      result: { status: 'success', context: { status: 'success', data } },
    }),
    event('command.completed', 'success', { command_id: command.command_id, status: 'success' }),
  ]);
}

export function failed(command: LeasedCommand, error: string): CommandReport {
  const info = { kind: 'unknown', retryable: false, code: 'TEST', message: error };
  return reportOf(command, [
    event('command.failed', 'FAILED', { command_id: command.command_id, error, error_info: info }),
  ]);
}

export function reportOf(command: LeasedCommand, events: ReportedEvent[]): CommandReport {
  const { execution_id, command_id, claim_token } = command;
  return { execution_id, command_id, claim_token, events };
}

export function event(
  event_type: ReportedEvent['event_type'],
  status: string,
  context: ReportedEvent['context'],
): ReportedEvent {
  return { event_type, status, created_at: AT, context };
}

/** Exactly one command, or the test fails here and says so. */
export async function leaseOne(client: NoetlClient, worker_id = 'w1', wait_ms = 5_000): Promise<LeasedCommand> {
  const { commands } = await client.lease({ worker_id, pools: ['shared'], max: 1, wait_ms });
  const [command] = commands;
  if (command === undefined) throw new Error(`worker ${worker_id} got no command within ${wait_ms} ms`);
  return command;
}

/** Does every step of everything that is open in the shared pool, in one worker's name, until nothing is left. */
export async function workOff(
  client: NoetlClient,
  worker_id = 'w1',
  data: (step: string) => Json = () => ({ ok: true }),
) {
  let { commands } = await client.lease({ worker_id, pools: ['shared'], max: 100, wait_ms: 2_000 });
  while (commands.length > 0) {
    const reports = commands.map((command) => done(command, data(command.step)));
    ({ commands } = await client.report({ worker_id, reports, lease: { pools: ['shared'], max: 100 } }));
  }
}

// Why an execution is where it is, in words a person can act on. A pure view of the state; the server adds what it knows about workers.
import type { CompiledPlaybook } from './compile.js';
import { type ExecutionState, isTerminal } from './state.js';

export type Waiting =
  | {
      readonly kind: 'command_pending';
      readonly step: string;
      readonly commandId: string;
      readonly pool: string;
      readonly attempt: number;
      readonly since: string;
    }
  | {
      readonly kind: 'command_running';
      readonly step: string;
      readonly commandId: string;
      readonly workerId: string | null;
      readonly attempt: number;
    }
  | {
      readonly kind: 'timer' | 'signal' | 'child';
      readonly step: string;
      readonly commandId: string;
      /** The signal's name, or the child's execution id. */
      readonly for: string | null;
      readonly dueAt: string | null;
      readonly since: string;
    }
  | { readonly kind: 'join'; readonly step: string; readonly missing: readonly string[] }
  | { readonly kind: 'failure_draining'; readonly step: string; readonly error: string };

export function waitingFor(compiled: CompiledPlaybook, state: ExecutionState): Waiting[] {
  if (isTerminal(state)) return [];
  const items: Waiting[] = [];
  if (state.failure !== null)
    items.push({ kind: 'failure_draining', step: state.failure.step, error: state.failure.error });
  for (const command of Object.values(state.commands)) {
    const { step, commandId, attempt, park } = command;
    if (park !== null) {
      const what = park.kind === 'child' ? park.executionId : park.signal;
      const kind = park.kind === 'child' ? 'child' : park.signal === null ? 'timer' : 'signal';
      items.push({ kind, step, commandId, for: what, dueAt: park.dueAt, since: command.issuedAt });
      continue;
    }
    items.push(
      command.status === 'PENDING'
        ? { kind: 'command_pending', step, commandId, pool: command.pool, attempt, since: command.issuedAt }
        : { kind: 'command_running', step, commandId, workerId: command.workerId, attempt },
    );
  }
  for (const step of Object.keys(state.waiting))
    items.push({ kind: 'join', step, missing: missingBranches(compiled, state, step) });
  return items;
}

function missingBranches(compiled: CompiledPlaybook, state: ExecutionState, step: string): string[] {
  const { graph } = compiled;
  const incoming = graph.incoming[graph.indexOf.get(step) ?? -1] ?? [];
  const names = incoming
    .filter((arc) => {
      const source = state.steps[graph.names[arc.from] as string];
      return (
        source === undefined || (source.phase !== 'skipped' && ![...source.taken, ...source.dead].includes(arc.index))
      );
    })
    .map((arc) => graph.names[arc.from] as string);
  return [...new Set(names)];
}

// Taking a command back. A child that is waited for is cancelled with it.
import type { CommandState } from './state.js';
import type { Turn } from './turn.js';

export function cancelCommand(turn: Turn, command: CommandState, reason: string): void {
  const { commandId, step, park } = command;
  turn.emit({ type: 'command.cancelled', commandId, step, reason });
  if (park?.kind === 'child') turn.post({ type: 'cancel', target: park.executionId, reason });
}

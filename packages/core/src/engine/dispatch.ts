// Starting a step: its guard, its visit number, and then its command, or its loop.
import type { Scope } from '../template/index.js';
import type { CompiledLoop, CompiledStep } from './compile.js';
import { markStage } from './cursor.js';
import { type Dispatched, issue } from './issue.js';
import { advanceLoop, openLoop } from './loop.js';
import { executionScope } from './scope.js';
import { stepFailure } from './step-error.js';
import type { Turn } from './turn.js';

export function dispatch(turn: Turn, compiled: CompiledStep): Dispatched {
  const { step } = compiled;
  const run = (turn.state.steps[step.name]?.run ?? 0) + 1;
  const args = turn.state.waiting[step.name] ?? {};
  const scope = executionScope(turn.state, turn.world, { args, ...args, step_name: step.name });
  if (!admitted(compiled, scope)) {
    turn.emit({ type: 'step.skipped', step: step.name, run, reason: 'guard' });
    return 'guarded';
  }
  if (compiled.loop === undefined) {
    turn.emit({ type: 'step.enter', step: step.name, run });
    return issue(turn, compiled, 1);
  }
  return enterLoop(turn, compiled, compiled.loop, run, scope);
}

function enterLoop(turn: Turn, compiled: CompiledStep, loop: CompiledLoop, run: number, scope: Scope): Dispatched {
  const step = compiled.step.name;
  const eventId = turn.world.nextId();
  try {
    turn.emit({ type: 'step.enter', step, run, loop: openLoop(loop, scope, `${step}:${eventId}`) }, eventId);
  } catch (error) {
    const failure = stepFailure(error);
    if (failure === undefined) throw error;
    turn.emit({ type: 'step.enter', step, run }, eventId);
    turn.emit({ type: 'step.failed', step, run, ...failure });
    return 'failed';
  }
  const opened = turn.state.steps[step]?.loop;
  if (opened?.cursor != null) markStage(turn, compiled, opened, 'opened');
  return advanceLoop(turn, compiled);
}

function admitted(compiled: CompiledStep, scope: Scope): boolean {
  if (compiled.when !== undefined && !compiled.when.test(scope)) return false;
  return compiled.admit.find((rule) => rule.when.test(scope))?.allow ?? true;
}

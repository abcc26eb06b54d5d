// What executions tell each other: a step with `kind: playbook` starts a child, and hears of its end. The child is a mock, or it really
// runs from its own file.
import type { Message, Mock, Park } from '@noetl/core';
import type { Call } from './mocks.js';
import { type Execution, type Stage, startFact, unmocked } from './stage.js';

type ChildPark = Extract<Park, { kind: 'child' }>;

export function deliver(stage: Stage, sender: Execution, message: Message): void {
  switch (message.type) {
    case 'start_child': {
      const park = sender.state.commands[message.commandId]?.park;
      if (park?.kind === 'child') startChild(stage, sender, message.commandId, park);
      return;
    }
    case 'cancel': {
      const { target, reason } = message;
      const child = stage.find(target);
      if (child !== undefined) stage.agenda.plan(0, () => void stage.tell(child, { type: 'cancel', reason }));
      return;
    }
    case 'child_ended': {
      const { target, commandId, status, data, error } = message;
      const parent = stage.find(target);
      const end = { childId: sender.id, status, data, error };
      if (parent !== undefined)
        stage.agenda.plan(0, () => void stage.tell(parent, { type: 'child_ended', commandId, end }), 'any');
      return;
    }
  }
}

function startChild(stage: Stage, parent: Execution, commandId: string, park: ChildPark): void {
  const command = parent.state.commands[commandId];
  if (command === undefined) return;
  const name = command.step;
  const call: Call = { name, input: park.payload, config: { path: park.path } };
  parent.called(call);
  if (!parent.isMocked(name)) return stage.stop(unmocked(parent.compiled.playbook, name, 'playbook'));
  const answer = parent.answer(name, { ...call, attempt: command.attempt });
  if (answer === undefined) return;
  if (answer.type === 'run') return runChild(stage, parent, commandId, park, answer.mocks);
  if (answer.type === 'result' && !park.wait)
    return stage.agenda.plan(0, () => void stage.tell(parent, { type: 'child_started', commandId }), 'any');
  const childId = park.executionId;
  const end =
    answer.type === 'result'
      ? { childId, status: 'COMPLETED' as const, data: answer.result, error: null }
      : { childId, status: 'FAILED' as const, data: answer.result ?? null, error: answer.error.message };
  stage.agenda.plan(answer.takesMs, () => void stage.tell(parent, { type: 'child_ended', commandId, end }), 'any');
}

function runChild(stage: Stage, parent: Execution, commandId: string, park: ChildPark, mocks: readonly Mock[]): void {
  const playbook = stage.children.get(park.path ?? '');
  if (playbook === undefined) {
    const known = [...stage.children.keys()].join(', ') || 'none';
    return stage.stop(`'${park.path}' is not among the \`playbooks\` of the test (${known})`);
  }
  const child = stage.open(park.executionId, playbook, mocks);
  const family = {
    parentExecutionId: parent.id,
    parentEventId: parent.state.commands[commandId]?.eventId ?? null,
    depth: parent.state.depth + 1,
    caller: park.wait ? { commandId, returnStep: park.returnStep } : null,
  };
  stage.agenda.plan(0, () => {
    stage.tell(child, { ...startFact(playbook, park.payload), ...family });
    if (!park.wait) stage.tell(parent, { type: 'child_started', commandId });
  });
}

// Starting the child of a step that waits in its parent. The parent's own log says what to start, so nothing is started for a command
// that has been cancelled in the meantime; a child that cannot start ends its parent's step with the reason.
import { type ExecutionState, type Id, isTerminal, type Park, playbookPool } from '@noetl/core';
import type { Catalog } from '../catalog/index.js';
import { versionOf } from '../catalog/index.js';
import { ApiProblem } from '../errors.js';
import type { Log } from '../log/index.js';

export interface ChildStarter {
  /** `child`: the execution that the command stands for. */
  start(parent: Id, commandId: string, child: Id): Promise<void>;
}

type ChildPark = Extract<Park, { kind: 'child' }>;

export function createChildStarter({ log, catalog }: { log: Log; catalog: Catalog }): ChildStarter {
  const wanted = async (parent: Id, commandId: string) => {
    const state = await log.state(parent);
    const park = state?.commands[commandId]?.park;
    return state !== undefined && park?.kind === 'child' ? { state, park } : undefined;
  };

  /** A child that was started for a command which is gone; a crash may have come between its start and this. */
  const cancelOrphan = async (child: Id, commandId: string) => {
    const state = await log.state(child);
    if (state === undefined || isTerminal(state) || state.caller?.commandId !== commandId) return;
    await log.append(child, [{ type: 'cancel', reason: 'the step that started it is gone' }]);
  };

  return {
    async start(parent, commandId, child) {
      const asked = await wanted(parent, commandId);
      if (asked === undefined) return cancelOrphan(child, commandId);
      const { park } = asked;
      try {
        await begin(asked.state, commandId, park);
      } catch (error) {
        if (!(error instanceof ApiProblem)) throw error;
        const end = { childId: park.executionId, status: 'FAILED' as const, data: null, error: error.message };
        await log.append(parent, [{ type: 'child_ended', commandId, end }]);
        return;
      }
      // Its parent may have been cancelled while it started.
      if ((await wanted(parent, commandId)) === undefined) return cancelOrphan(child, commandId);
      if (!park.wait) await log.append(parent, [{ type: 'child_started', commandId }]);
    },
  };

  async function begin(parent: Readonly<ExecutionState>, commandId: string, park: ChildPark): Promise<void> {
    // The state moves on while we wait.
    const parentEventId = parent.commands[commandId]?.eventId ?? null;
    const { executionId: parentExecutionId, trace, depth } = parent;
    const entry = await catalog.find({
      catalogId: park.catalogId ?? undefined,
      path: park.path ?? undefined,
      version: versionOf(park.version),
    });
    if (entry.kind !== 'playbook' && entry.kind !== 'agent')
      throw new ApiProblem('invalid', `'${entry.path}' is a ${entry.kind}; only playbooks and agents can be executed`);
    await catalog.compiled(entry.catalog_id);
    await log.append(park.executionId, [
      {
        type: 'start',
        path: entry.path,
        catalogId: entry.catalog_id,
        payload: park.payload,
        pool: playbookPool(entry.path),
        parentExecutionId,
        parentEventId,
        trace,
        depth: depth + 1,
        caller: park.wait ? { commandId, returnStep: park.returnStep } : null,
      },
    ]);
  }
}

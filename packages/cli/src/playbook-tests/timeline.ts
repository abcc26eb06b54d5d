// What happened in a test, in words, from the events of its executions. A pure view of the log.
import { type DomainEvent, isObject, type Json, stringifyJson } from '@noetl/core';
import { shortDuration } from './words.js';

export interface Moment {
  /** Since the start of the test, in its own time. */
  readonly afterMs: number;
  /** The playbook, when it is not the one under test. */
  readonly playbook?: string;
  readonly step: string;
  readonly text: string;
}

/** Undefined for what is only bookkeeping. */
export function describeEvent(
  event: DomainEvent,
  arcs: (step: string) => readonly string[],
): Omit<Moment, 'afterMs'> | undefined {
  switch (event.type) {
    case 'playbook_started':
      return { step: '', text: `starts with ${brief(event.workload)}` };
    case 'step.enter': {
      const visit = event.run > 1 ? `, visit ${event.run}` : '';
      const { loop } = event;
      const items = loop === undefined ? '' : loop.cursor ? ', claims rows' : `, ${loop.items.length} items`;
      return { step: event.step, text: `entered${visit}${items}` };
    }
    case 'step.skipped':
      return { step: event.step, text: event.reason === 'guard' ? 'skipped by its own condition' : 'skipped' };
    case 'step.failed':
      return { step: event.step, text: `failed: ${event.error}` };
    case 'command.issued':
      return parked(event);
    case 'command.requeued':
      return { step: event.step, text: `${event.reason} in ${shortDuration(event.delayMs)}` };
    case 'call.done':
      return { step: event.step, text: `${item(event)}returned ${brief(event.data)}` };
    case 'call.error':
      return { step: event.step, text: `${item(event)}failed: ${event.error}${printed(event.data)}` };
    case 'command.failed':
      return { step: event.step, text: `${item(event)}failed: ${event.error}` };
    case 'command.cancelled':
      return { step: event.step, text: `cancelled: ${event.reason}` };
    case 'signal.received':
      return { step: '', text: `signal ${event.name}${event.payload === null ? '' : ` ${brief(event.payload)}`}` };
    case 'ctx.updated':
      return { step: event.step, text: `set ${brief(event.values)}` };
    case 'next.evaluated': {
      const targets = event.taken.map((index) => arcs(event.step)[index]).filter((target) => target !== undefined);
      return targets.length === 0 ? undefined : { step: event.step, text: `→ ${targets.join(', ')}` };
    }
    case 'playbook.ended':
      return { step: '', text: `${event.status}${event.error === null ? '' : `: ${event.error}`}` };
    case 'command.claimed':
    case 'command.started':
    case 'command.completed':
    case 'loop.done':
    case 'signal.delivered':
    case 'execution.forked':
      return undefined;
  }
}

function parked({ park, step }: Extract<DomainEvent, { type: 'command.issued' }>): Omit<Moment, 'afterMs'> | undefined {
  if (park === undefined) return undefined;
  if (park.kind === 'child') return { step, text: `starts playbook ${park.path ?? park.catalogId}` };
  const until = park.dueAt === null ? '' : ` until ${park.dueAt}`;
  return { step, text: park.signal === null ? `waits${until}` : `waits for signal ${park.signal}${until}` };
}

/** Which item of a loop it is about: its command says so. */
function item({ commandId }: { readonly commandId: string }): string {
  const index = /:i(\d+)$/.exec(commandId)?.[1];
  return index === undefined ? '' : `[${index}] `;
}

/** What a script wrote before it failed usually says why. */
function printed(data: Json): string {
  const text = isObject(data) && typeof data['stderr'] === 'string' ? data['stderr'].trim() : '';
  return text === '' ? '' : ` (${text.split('\n').at(-1)})`;
}

const MAX_BRIEF = 100;

export function brief(value: Json): string {
  const text = stringifyJson(value);
  return text.length <= MAX_BRIEF ? text : `${text.slice(0, MAX_BRIEF - 1)}…`;
}

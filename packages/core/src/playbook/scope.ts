// What every reader of a part of the playbook needs: where to report, whose name to start a message with, how to check templates.
import type { Place } from './node.js';
import type { Report } from './report.js';
import type { Source } from './source.js';
import type { CheckTemplate } from './templates.js';
import type { Mention } from './variables.js';

export interface Scope {
  readonly source: Source;
  readonly report: Report;
  readonly checkTemplate: CheckTemplate | undefined;
  /** Every template that was read, for what only the whole playbook can tell. */
  readonly mentions: Mention[];
  /** Starts every message: `Step 'fetch': ` inside a step, empty elsewhere. */
  readonly subject: string;
}

/** The path as an author reads it inside its step: `tool.spec.policy.rules[0]`, not `workflow[2].tool…`. */
export function fieldOf(place: Place): string {
  return place.path.replace(/^workflow\[\d+\]\.?/, '') || 'step';
}

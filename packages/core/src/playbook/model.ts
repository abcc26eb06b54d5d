// The playbook as the engine sees it: every dialect of the YAML (docs/playbook.md) is normalised to this one shape by parse.ts.
// Templates are still source text here; engine/compile.ts compiles them once per catalog version.
import type { Json, JsonObject } from '../json/types.js';
import type { PlaybookTest } from './test-model.js';

export interface Playbook {
  readonly apiVersion: string;
  readonly kind: 'Playbook' | 'Agent';
  readonly metadata: Metadata;
  /** Default inputs; an execute request's payload overrides them key by key. */
  readonly workload: JsonObject;
  readonly keychain: readonly KeychainEntry[];
  readonly executor: Executor;
  /** In document order. */
  readonly steps: readonly Step[];
  /** Only for those who ask for them (`ParseOptions.tests`). */
  readonly tests?: readonly PlaybookTest[];
}

export interface Metadata {
  readonly name: string;
  readonly path: string;
  readonly description?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** All other keys, verbatim. */
  readonly extra: JsonObject;
}

export interface Executor {
  /** Resolved: `executor.spec.entry_step`, else the step `start`, else the first step. */
  readonly entryStep: string;
  readonly finalStep?: string;
  readonly noNextIsError: boolean;
}

export interface KeychainEntry {
  readonly name: string;
  readonly config: JsonObject;
}

/** 1-based position in the YAML document. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A template string, or a literal boolean (`when: true`). */
export type Condition = string | boolean;

export interface Step {
  readonly name: string;
  readonly desc?: string;
  readonly tool: StepTool;
  /** Step-level `input` (legacy `args`); a key of the tool's own input wins over it. */
  readonly input: JsonObject;
  /** Keys as written (`ctx.total`), values templates or literals. */
  readonly set: JsonObject;
  readonly when?: Condition;
  /** `spec.policy.admit.rules`; absent means admit. */
  readonly admit?: readonly AdmitRule[];
  readonly loop?: Loop;
  readonly next: Router;
  readonly spec: StepSpec;
  readonly output?: JsonObject;
  /** `emit`: domain events this step leaves behind. */
  readonly emit?: readonly Emit[];
  readonly at: Position;
}

export interface Emit {
  /** The name of the event, `order.paid`. */
  readonly type: string;
  readonly objectType: string;
  readonly objectId: Json;
  /** Changes some attributes of the object. */
  readonly patch?: JsonObject;
  /** Replaces all of them. */
  readonly state?: JsonObject;
  readonly status?: string;
  readonly when?: Condition;
  /** One event for each item of this collection, which is called `as`. */
  readonly each?: Json;
  readonly as: string;
}

export interface StepSpec {
  readonly timeoutSeconds?: number | string;
  readonly onError: 'fail' | 'continue' | 'retry';
  /** `spec.policy.failure.mode: fail_fast`: cancel running siblings when this step fails unhandled. */
  readonly failFast: boolean;
  readonly maxAttempts?: number;
  /** `spec.idempotent: false`: never run again after a lost lease. */
  readonly idempotent: boolean;
}

export interface AdmitRule {
  /** Absent for `else`. */
  readonly when?: Condition;
  readonly allow: boolean;
}

export type StepTool = SingleTool | Pipeline;

export interface SingleTool {
  readonly type: 'single';
  readonly task: Task;
}

export interface Pipeline {
  readonly type: 'pipeline';
  /** Labels are unique. */
  readonly tasks: readonly Task[];
}

export interface Task {
  /** Pipeline label (`task_<index>` when unnamed); the step name for a single tool. */
  readonly label: string;
  readonly kind: string;
  /** The tool's own fields, without kind, name, input/args, set, spec and output. */
  readonly config: JsonObject;
  readonly input: JsonObject;
  readonly set: JsonObject;
  readonly policy: readonly PolicyRule[];
  readonly timeoutSeconds?: number | string;
  readonly output?: JsonObject;
  readonly at: Position;
}

export interface PolicyRule {
  /** Absent: always matches (`else`, or `then` without `when`). */
  readonly when?: Condition;
  readonly action: 'continue' | 'retry' | 'jump' | 'break' | 'fail';
  readonly attempts: number | string;
  readonly backoff: 'none' | 'linear' | 'exponential' | 'constant';
  readonly delaySeconds: number | string;
  readonly to?: string;
  readonly set: JsonObject;
}

export interface Loop {
  readonly iterator: string;
  readonly mode: 'sequential' | 'parallel' | 'cursor';
  /** Template or literal collection; absent for cursor loops. */
  readonly in?: Json;
  readonly maxInFlight?: number | string;
  readonly onError: 'stop' | 'continue' | 'fail_fast';
  readonly cursor?: JsonObject;
  readonly frame: JsonObject;
}

export interface Router {
  readonly mode: 'exclusive' | 'inclusive';
  readonly arcs: readonly Arc[];
  /** `next` was written, even when empty (a step without it is a leaf and implies an arc to `end`). */
  readonly declared: boolean;
}

export interface Arc {
  readonly to: string;
  readonly when?: Condition;
  readonly set: JsonObject;
  readonly args: JsonObject;
  readonly at: Position;
}

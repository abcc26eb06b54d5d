// One entry of `workflow`: the step's own fields; tool, loop, guards and router are read by their own modules.
import { readInput, readLegacyVars, readSet, SET_KEYS } from './bindings.js';
import { readEmit } from './emit.js';
import { readBoolean, readChoice, readCount, readMap, readSeconds, readText, warnUnknownKeys } from './fields.js';
import { readAdmit } from './guard.js';
import { readLoop } from './loop.js';
import type { Step, StepSpec } from './model.js';
import { child, type MapNode, mapToJson } from './node.js';
import { readRouter } from './router.js';
import { fieldOf, type Scope } from './scope.js';
import { closest } from './suggest.js';
import { checkTemplates, readCondition } from './templates.js';
import { readStepTool } from './tool.js';
import type { Workbook } from './workbook.js';

export interface WorkflowContext {
  readonly names: ReadonlySet<string>;
  readonly workbook: Workbook;
}

const STEP_KEYS = [
  'step',
  'desc',
  'description',
  'tool',
  'input',
  'args',
  'vars',
  'when',
  'loop',
  'next',
  'spec',
  'output',
  'emit',
  ...SET_KEYS,
];
const SPEC_KEYS = ['next_mode', 'timeout', 'on_error', 'policy', 'idempotent', 'max_attempts'];
/** Tool fields that end up at step level when the indentation slips. */
const TOOL_KEYS: ReadonlySet<string> = new Set(
  'kind auth code url endpoint method query command commands cmds connection params headers libs script path payload timeout_seconds database'.split(
    ' ',
  ),
);

const CASE_MESSAGE =
  "'case' blocks are not allowed in canonical format. Use 'step.when' for enable guards and 'next[].when' for conditional routing. For pipelines, use 'tool: [- label: {kind: ...}]' directly on the step.";

export function readStep(outer: Scope, map: MapNode, name: string, workflow: WorkflowContext): Step | undefined {
  const scope: Scope = { ...outer, subject: `Step '${name}': ` };
  checkKeys(scope, map);
  const spec = readMap(scope, map, 'spec');
  const policy = readMap(scope, spec, 'policy');
  const input = readInput(scope, child(map, 'input'), child(map, 'args'));
  const output = readMap(scope, map, 'output');
  if (output !== undefined) checkTemplates(scope, output);
  const stepOutput = output === undefined ? undefined : mapToJson(output);
  const tool = readStepTool(scope, map, { step: name, input, output: stepOutput, workbook: workflow.workbook });
  const set = { ...readLegacyVars(scope, map), ...readSet(scope, map) };
  const when = readCondition(scope, child(map, 'when'), "invalid 'when' expression");
  const admit = readAdmit(scope, policy);
  const loop = readLoop(scope, map);
  const next = readRouter(scope, map, spec, { from: name, steps: workflow.names });
  const stepSpec = readStepSpec(scope, spec, policy);
  const desc = readText(scope, map, 'desc') ?? readText(scope, map, 'description');
  const emit = readEmit(scope, child(map, 'emit'));
  if (tool === undefined) return undefined;
  const effectiveOutput = tool.type === 'single' ? tool.task.output : stepOutput;
  return {
    name,
    ...(desc !== undefined && { desc }),
    tool,
    input,
    set,
    ...(when !== undefined && { when }),
    ...(admit !== undefined && { admit }),
    ...(loop !== undefined && { loop }),
    next,
    spec: stepSpec,
    ...(effectiveOutput !== undefined && { output: effectiveOutput }),
    ...(emit !== undefined && { emit }),
    at: map.at,
  };
}

function checkKeys(scope: Scope, map: MapNode): void {
  const forbidden = map.entries.get('case');
  if (forbidden !== undefined)
    scope.report.error(
      'step.case',
      scope.subject + CASE_MESSAGE,
      forbidden,
      'move its conditions to `next.arcs[].when`',
    );
  const type = map.entries.get('type');
  if (type !== undefined) {
    const message = `${scope.subject}'type' is not a step field`;
    scope.report.error('step.type', message, type, 'name the tool with `tool: { kind: … }`');
  }
  for (const [key, hint] of UNSUPPORTED) {
    const entry = map.entries.get(key);
    if (entry !== undefined) {
      scope.report.warning('step.unsupported-key', `${scope.subject}\`${key}\` has no effect here`, entry, hint);
    }
  }
  warnUnknownKeys(scope, map, {
    code: 'step.unknown-key',
    known: [...STEP_KEYS, 'case', 'type', ...UNSUPPORTED.map(([key]) => key)],
    misplaced: (key) => (TOOL_KEYS.has(key) ? 'tool' : SPEC_KEYS.includes(key) ? 'spec' : undefined),
    report: 'all',
  });
}

const UNSUPPORTED = [
  ['retry', 'write a rule with `do: retry` under `tool.spec.policy.rules`'],
  ['sink', 'add a step, or a pipeline task, that stores the result'],
] as const;

function readStepSpec(scope: Scope, spec: MapNode | undefined, policy: MapNode | undefined): StepSpec {
  if (spec !== undefined) {
    warnUnknownKeys(scope, spec, { code: 'step.unknown-key', known: SPEC_KEYS, report: 'typos' });
  }
  const rules = policy?.entries.get('rules');
  if (rules !== undefined) {
    const message = `${scope.subject}key \`rules\` has no effect in the policy of a step`;
    scope.report.warning('playbook.misplaced-key', message, rules, 'move it under `tool.spec.policy`');
  }
  const lifecycle = readMap(scope, policy, 'lifecycle');
  const timeout = (spec && child(spec, 'timeout')) ?? (lifecycle && child(lifecycle, 'timeout_s'));
  const timeoutSeconds = readSeconds(scope, timeout);
  if (timeout !== undefined) checkTemplates(scope, timeout);
  const maxAttempts = readAttempts(scope, spec);
  return {
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    onError: readChoice(scope, spec && child(spec, 'on_error'), ['fail', 'continue', 'retry']) ?? 'fail',
    failFast: readFailFast(scope, policy),
    ...(maxAttempts !== undefined && { maxAttempts }),
    idempotent: readBoolean(scope, spec, 'idempotent') ?? true,
  };
}

/** The engine counts leases with it before any template context exists, so it is a plain number. */
function readAttempts(scope: Scope, spec: MapNode | undefined): number | undefined {
  const node = spec && child(spec, 'max_attempts');
  const count = readCount(scope, node);
  if (node === undefined || typeof count !== 'string') return typeof count === 'number' ? count : undefined;
  scope.report.error('playbook.count', `${scope.subject}${fieldOf(node)} cannot be a template`, node, 'write a number');
  return undefined;
}

function readFailFast(scope: Scope, policy: MapNode | undefined): boolean {
  const failure = readMap(scope, policy, 'failure');
  const mode = readText(scope, failure, 'mode');
  if (failure === undefined || mode === undefined || mode === 'fail_fast') return mode === 'fail_fast';
  if (closest(mode, ['fail_fast']) !== undefined) {
    const place = child(failure, 'mode') ?? failure;
    const message = `${scope.subject}${fieldOf(place)}: unknown failure mode '${mode}' is ignored`;
    scope.report.warning('step.failure-mode', message, place, 'did you mean `fail_fast`?');
  }
  return false;
}

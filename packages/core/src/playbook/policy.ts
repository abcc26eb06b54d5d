// Task policy: what happens after each attempt of a task. Six spellings of a rule and the older `eval` list become one shape.
import { readSet } from './bindings.js';
import { expectList, expectMap, expectText, isTemplateText, readCount, readSeconds } from './fields.js';
import type { Condition, PolicyRule } from './model.js';
import { child, isNull, type MapNode, type Node } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import { readCondition } from './templates.js';

const ACTIONS = ['continue', 'retry', 'break', 'jump', 'fail'] as const;
const BACKOFFS = ['none', 'linear', 'exponential', 'constant'] as const;
/** A constant delay under the names that playbooks in the field use. */
const CONSTANT_NAMES: ReadonlySet<string> = new Set(['fixed', 'constant', 'static']);
const PREVIOUS_TASK: ReadonlySet<string> = new Set(['previous', 'prev', '_previous', '@previous']);

const DEFAULT_ATTEMPTS = 3;
const DEFAULT_DELAY_SECONDS = 1;

/** Where `jump` may go, and how messages name the task. */
export interface TaskContext {
  readonly labels: ReadonlySet<string>;
  /** How the reference words the place of an `eval` rule: `eval` or `tool[].<label>.eval`. */
  readonly evalName: string;
}

export function readPolicy(scope: Scope, policy: Node | undefined, task: TaskContext): PolicyRule[] {
  if (policy === undefined) return [];
  const rules = policy.type === 'map' ? child(policy, 'rules') : policy;
  if (rules === undefined) {
    const message = `${scope.subject}${fieldOf(policy)} must have 'rules' field`;
    scope.report.error('policy.rules', message, policy, 'write `rules:` with a list of `when`/`then` rules');
    return [];
  }
  return readRules(scope, rules, (rule) => fieldOf(rule), task);
}

/** The older form: `eval: [{expr, do, …}]` on the tool itself. */
export function readEval(scope: Scope, rules: Node | undefined, task: TaskContext): PolicyRule[] {
  return rules === undefined ? [] : readRules(scope, rules, (_, index) => `${task.evalName}[${index}]`, task);
}

function readRules(
  scope: Scope,
  node: Node,
  nameOf: (rule: Node, index: number) => string,
  task: TaskContext,
): PolicyRule[] {
  const rules: PolicyRule[] = [];
  let always: Node | undefined;
  for (const [index, item] of expectList(scope, node)?.items.entries() ?? []) {
    const map = expectMap(scope, item);
    if (map === undefined) continue;
    if (always !== undefined) {
      const message = `${scope.subject}${nameOf(item, index)} can never be reached`;
      const hint = `the rule on line ${always.at.line} always matches; move it to the end`;
      scope.report.warning('policy.unreachable-rule', message, item, hint);
    }
    const rule = readRule(scope, map, nameOf(item, index), task);
    if (rule === undefined) continue;
    if (rule.when === undefined || rule.when === true) always ??= item;
    rules.push(rule);
  }
  return rules;
}

function readRule(scope: Scope, rule: MapNode, name: string, task: TaskContext): PolicyRule | undefined {
  const guard = child(rule, 'when') ?? child(rule, 'expr');
  const isElse = rule.entries.has('else');
  const action = actionOf(rule);
  if (action === undefined) {
    const missing = guard === undefined && !isElse ? "must have 'when' or be an 'else' clause" : "must have 'then'";
    scope.report.error('policy.rule', `${scope.subject}${name} ${missing}`, rule, RULE_HINT);
    return undefined;
  }
  const when = isElse ? undefined : readCondition(scope, guard, `${name} has invalid expression`);
  const then = expectMap(scope, action, RULE_HINT);
  return then === undefined ? undefined : readAction(scope, then, when, name, task);
}

const RULE_HINT = 'write `when: "{{ … }}"` with `then: { do: continue }`, or `else: { then: { do: continue } }`';

/** The part of a rule that holds `do`: under `then`, under `else`, under `else.then`, or the rule itself. */
function actionOf(rule: MapNode): Node | undefined {
  const otherwise = rule.entries.get('else')?.value;
  if (otherwise?.type === 'map' && otherwise.entries.size > 0) return child(otherwise, 'then') ?? otherwise;
  const then = rule.entries.get('then');
  if (then !== undefined && !isNull(then.value)) return then.value;
  return rule.entries.has('do') ? rule : undefined;
}

function readAction(
  scope: Scope,
  then: MapNode,
  when: Condition | undefined,
  name: string,
  task: TaskContext,
): PolicyRule | undefined {
  const action = readDo(scope, then, name);
  const attempts = readCount(scope, child(then, 'attempts')) ?? DEFAULT_ATTEMPTS;
  const delay = readSeconds(scope, child(then, 'delay'));
  const backoff = readBackoff(scope, child(then, 'backoff'), delay !== undefined);
  const set = readSet(scope, then);
  const to = action === 'jump' ? readJumpTarget(scope, then, name, task) : undefined;
  if (action === undefined) return undefined;
  return {
    ...(when !== undefined && { when }),
    action,
    attempts,
    backoff,
    delaySeconds: delay ?? DEFAULT_DELAY_SECONDS,
    ...(to !== undefined && { to }),
    set,
  };
}

function readDo(scope: Scope, then: MapNode, name: string): PolicyRule['action'] | undefined {
  const node = child(then, 'do');
  if (node === undefined) {
    const message = `${scope.subject}${name} must have 'do' field`;
    scope.report.error('policy.action', message, then, `write \`do:\` with one of ${ACTIONS.join(', ')}`);
    return undefined;
  }
  const word = expectText(scope, node);
  const action = ACTIONS.find((known) => known === word);
  if (word !== undefined && action === undefined) {
    const valid = ACTIONS.map((known) => `"${known}"`).join(', ');
    const message = `${scope.subject}${name} has invalid action '${word}'. Valid: [${valid}]`;
    scope.report.error('policy.action', message, node, didYouMean(word, ACTIONS, `use one of ${ACTIONS.join(', ')}`));
  }
  return action;
}

/** A delay that is written is meant: without a `backoff` it is constant. */
function readBackoff(scope: Scope, node: Node | undefined, hasDelay: boolean): PolicyRule['backoff'] {
  const word = expectText(scope, node)?.toLowerCase();
  if (node === undefined || word === undefined) return hasDelay ? 'constant' : 'none';
  const known = BACKOFFS.find((backoff) => backoff === word);
  if (known === undefined && !CONSTANT_NAMES.has(word)) {
    const message = `${scope.subject}${fieldOf(node)}: unknown backoff '${word}' means a constant delay`;
    scope.report.warning('policy.backoff', message, node, didYouMean(word, BACKOFFS, `use ${BACKOFFS.join(', ')}`));
  }
  return known ?? 'constant';
}

function readJumpTarget(scope: Scope, then: MapNode, name: string, task: TaskContext): string | undefined {
  const node = child(then, 'to') ?? child(then, 'target');
  const available = `[${[...task.labels].join(', ')}]`;
  if (node === undefined) {
    const message = `${scope.subject}${name}: jump action requires 'to' target`;
    scope.report.error('policy.jump', message, then, `write \`to:\` with one of ${available}`);
    return undefined;
  }
  const to = expectText(scope, node);
  if (to !== undefined && !task.labels.has(to) && !PREVIOUS_TASK.has(to) && !isTemplateText(to)) {
    const message = `${scope.subject}${name}: unknown task label '${to}'. Available labels: ${available}`;
    scope.report.error('policy.jump', message, node, didYouMean(to, task.labels, `use one of ${available}`));
  }
  return to;
}

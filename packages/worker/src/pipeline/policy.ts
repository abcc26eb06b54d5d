// Policy rules: what happens after each execution of a task. The first rule whose condition holds decides; without one an
// error fails the sequence and a success goes on.
import {
  type CompiledCondition,
  compileCondition,
  compileValue,
  isObject,
  type Json,
  type JsonObject,
  type Scope,
  type ValueTemplate,
} from '@noetl/core';
import { configurationError } from '../tools/errors.js';
import { type Assignment, compileAssignments } from './compile.js';
import type { Backoff } from './retry-delay.js';

const ACTIONS = ['continue', 'retry', 'jump', 'break', 'fail'] as const;
export type Action = (typeof ACTIONS)[number];

export interface Rule {
  readonly when: CompiledCondition;
  readonly action: Action;
  /** Executions in total, not retries. */
  readonly attempts: ValueTemplate;
  readonly backoff: Backoff;
  readonly delay: ValueTemplate;
  readonly to: ValueTemplate;
  readonly set: readonly Assignment[];
}

export type Decision =
  | { readonly do: 'continue' }
  | { readonly do: 'break' }
  | { readonly do: 'fail' }
  | { readonly do: 'jump'; readonly to: string }
  | { readonly do: 'retry'; readonly attempts: number; readonly backoff: Backoff; readonly delaySeconds: number };

const DEFAULT_ATTEMPTS = 3;
const DEFAULT_DELAY_SECONDS = 1;

/** `policy` is `{rules: […]}` or the list itself. */
export function compileRules(policy: Json | undefined): Rule[] {
  const rules = isObject(policy) ? policy['rules'] : policy;
  if (rules === undefined || rules === null) return [];
  if (!Array.isArray(rules)) throw configurationError('task_sequence', 'policy rules must be a list');
  return rules.map((rule, index) => {
    if (!isObject(rule)) throw configurationError('task_sequence', `policy rule ${index} must be a mapping`);
    return compileRule(rule, index);
  });
}

export function matchingRule(rules: readonly Rule[], scope: Scope): Rule | undefined {
  return rules.find((rule) => rule.when.test(scope));
}

export function decide(rule: Rule | undefined, failed: boolean, scope: Scope): Decision {
  if (rule === undefined) return { do: failed ? 'fail' : 'continue' };
  switch (rule.action) {
    case 'retry':
      return {
        do: 'retry',
        attempts: Math.max(1, Math.floor(numberOr(rule.attempts.render(scope), DEFAULT_ATTEMPTS))),
        backoff: rule.backoff,
        delaySeconds: Math.max(0, numberOr(rule.delay.render(scope), DEFAULT_DELAY_SECONDS)),
      };
    case 'jump':
      return { do: 'jump', to: String(rule.to.render(scope) ?? '') };
    default:
      return { do: rule.action };
  }
}

function compileRule(rule: JsonObject, index: number): Rule {
  const then = actionOf(rule);
  const action = then['do'] ?? 'continue';
  const known = ACTIONS.find((name) => name === action);
  if (known === undefined) {
    throw configurationError('task_sequence', `policy rule ${index}: do must be one of ${ACTIONS.join(', ')}`);
  }
  return {
    when: compileCondition(conditionOf(rule)),
    action: known,
    attempts: compileValue(then['attempts'] ?? DEFAULT_ATTEMPTS),
    backoff: backoffOf(then),
    delay: compileValue(then['delay'] ?? DEFAULT_DELAY_SECONDS),
    to: compileValue(then['to'] ?? then['target'] ?? null),
    set: [
      ...compileAssignments(then['set']),
      ...compileAssignments(scoped('ctx', then['set_ctx'])),
      ...compileAssignments(scoped('iter', then['set_iter'])),
    ],
  };
}

/** The part that holds `do`: under `then`, under `else`, under `else.then`, or the rule itself. */
function actionOf(rule: JsonObject): JsonObject {
  const otherwise = rule['else'];
  if (isObject(otherwise) && Object.keys(otherwise).length > 0) {
    return isObject(otherwise['then']) ? otherwise['then'] : otherwise;
  }
  return isObject(rule['then']) ? rule['then'] : rule;
}

function conditionOf(rule: JsonObject): string | boolean {
  const when = Object.hasOwn(rule, 'else') ? undefined : (rule['when'] ?? rule['expr']);
  if (when === undefined || when === null) return true;
  return typeof when === 'boolean' ? when : String(when);
}

/** A delay that is written is meant: without a `backoff` it is constant. Unknown words mean a constant delay too. */
function backoffOf(then: JsonObject): Backoff {
  const word = then['backoff'];
  if (word === undefined || word === null) return then['delay'] === undefined ? 'none' : 'constant';
  const text = String(word).toLowerCase();
  return text === 'none' || text === 'linear' || text === 'exponential' ? text : 'constant';
}

function scoped(scope: string, set: Json | undefined): JsonObject {
  if (!isObject(set)) return {};
  return Object.fromEntries(Object.entries(set).map(([key, value]) => [`${scope}.${key}`, value]));
}

function numberOr(value: Json, fallback: number): number {
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value ?? Number.NaN);
  return Number.isFinite(number) ? number : fallback;
}

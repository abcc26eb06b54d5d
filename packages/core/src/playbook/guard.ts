// `spec.policy.admit`: rules that decide whether a step may run at all. First match wins; no rule means admitted.
import { expectList, expectMap, readBoolean, readMap } from './fields.js';
import type { AdmitRule } from './model.js';
import { child, type MapNode } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { readCondition } from './templates.js';

const HINT = 'write `when: "{{ … }}"` with `then: { allow: true }`, or `else: { then: { allow: false } }`';

export function readAdmit(scope: Scope, policy: MapNode | undefined): AdmitRule[] | undefined {
  const admit = policy === undefined ? undefined : child(policy, 'admit');
  if (admit === undefined) return undefined;
  const list = expectList(scope, admit.type === 'map' ? child(admit, 'rules') : admit, HINT);
  if (list === undefined) {
    if (admit.type === 'map' && child(admit, 'rules') === undefined) {
      scope.report.error('admit.rules', `${scope.subject}${fieldOf(admit)} must have 'rules' field`, admit, HINT);
    }
    return undefined;
  }
  return list.items.flatMap((item) => {
    const map = expectMap(scope, item, HINT);
    const rule = map === undefined ? undefined : readAdmitRule(scope, map);
    return rule === undefined ? [] : [rule];
  });
}

function readAdmitRule(scope: Scope, rule: MapNode): AdmitRule | undefined {
  const otherwise = readMap(scope, rule, 'else', HINT);
  const holder = otherwise ?? rule;
  const allow = readBoolean(scope, readMap(scope, holder, 'then', HINT) ?? holder, 'allow');
  const isElse = rule.entries.has('else');
  const when = isElse
    ? undefined
    : readCondition(scope, child(rule, 'when'), `${fieldOf(rule)}.when has invalid expression`);
  if (allow === undefined || (when === undefined && !isElse)) {
    const missing = allow === undefined ? "must have 'allow: true' or 'allow: false'" : "must have 'when' or 'else'";
    scope.report.error('admit.rule', `${scope.subject}${fieldOf(rule)} ${missing}`, rule, HINT);
    return undefined;
  }
  return when === undefined ? { allow } : { when, allow };
}

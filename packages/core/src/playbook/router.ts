// `next`: a string, a list of strings, a list of maps, one map, or the router `{spec, arcs}` all become one Router.
import { readInput, readSet, SET_KEYS } from './bindings.js';
import { expectList, expectMap, expectText, readMap, readText, warnUnknownKeys } from './fields.js';
import type { Arc, Router } from './model.js';
import { child, type MapNode, type Node } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import { readCondition } from './templates.js';

export interface Targets {
  /** Name of the step whose `next` is read. */
  readonly from: string;
  readonly steps: ReadonlySet<string>;
}

/** Ends its branch when no step has this name. */
export const END_STEP = 'end';

const ARC_KEYS = ['step', 'when', 'args', 'input', 'spec', 'cond', 'desc', ...SET_KEYS];
const ROUTER_KEYS = ['spec', 'arcs', 'step', 'when', 'args', 'input', ...SET_KEYS];
const ARC_HINT = 'write `- step: name`, optionally with `when: "{{ … }}"`';

export function readRouter(scope: Scope, step: MapNode, spec: MapNode | undefined, targets: Targets): Router {
  const next = child(step, 'next');
  const stepMode = readMode(scope, spec, 'next_mode') ?? 'exclusive';
  if (next === undefined) return { mode: stepMode, arcs: [], declared: false };

  if (next.type === 'map') return readRouterMap(scope, next, stepMode, targets);
  const items = next.type === 'list' ? next.items : [next];
  const arcs = items.flatMap((item) => readArc(scope, item, 'next', targets));
  // A list of plain names starts every branch, whatever the mode says.
  const fansOut = next.type === 'list' && items.length > 0 && items.every((item) => item.type === 'scalar');
  return { mode: fansOut ? 'inclusive' : stepMode, arcs, declared: true };
}

function readRouterMap(scope: Scope, next: MapNode, stepMode: Router['mode'], targets: Targets): Router {
  warnUnknownKeys(scope, next, { code: 'router.unknown-key', known: ROUTER_KEYS, report: 'all' });
  const mode = readMode(scope, readMap(scope, next, 'spec'), 'mode') ?? stepMode;
  const arcs = child(next, 'arcs');
  if (arcs === undefined && next.entries.has('step')) {
    return { mode, arcs: readArc(scope, next, 'next', targets), declared: true };
  }
  const items = expectList(scope, arcs, ARC_HINT)?.items ?? [];
  return { mode, arcs: items.flatMap((item) => readArc(scope, item, 'next.arcs', targets)), declared: true };
}

function readMode(scope: Scope, spec: MapNode | undefined, key: string): Router['mode'] | undefined {
  const written = readText(scope, spec, key);
  if (spec === undefined || written === undefined) return undefined;
  const word = written.toLowerCase();
  if (word === 'inclusive' || word === 'exclusive') return word;
  const place = spec.entries.get(key)?.value ?? spec;
  const message = `${scope.subject}${fieldOf(place)}: unknown mode '${written}' means exclusive`;
  scope.report.warning('router.mode', message, place, didYouMean(word, ['exclusive', 'inclusive'], MODE_HINT));
  return 'exclusive';
}

const MODE_HINT = 'write `exclusive` (first match) or `inclusive` (every match)';

function readArc(scope: Scope, node: Node, form: 'next' | 'next.arcs', targets: Targets): Arc[] {
  if (node.type === 'scalar' && node.value !== null) {
    checkTarget(scope, node, node.text, form, targets);
    return [{ to: node.text, set: {}, args: {}, at: node.at }];
  }
  const map = expectMap(scope, node, ARC_HINT);
  if (map === undefined) return [];
  if (!map.entries.has('arcs')) {
    warnUnknownKeys(scope, map, { code: 'router.unknown-key', known: ARC_KEYS, report: 'all' });
  }
  const target = child(map, 'step');
  if (target === undefined) {
    scope.report.error('router.arc', `${scope.subject}${fieldOf(map)} must have 'step'`, map, ARC_HINT);
  }
  const to = expectText(scope, target);
  if (target !== undefined && to !== undefined) checkTarget(scope, target, to, form, targets);
  const when = readCondition(scope, child(map, 'when'), `${form}[].when has invalid expression`);
  const set = readSet(scope, map);
  const args = readInput(scope, child(map, 'input'), child(map, 'args'));
  return to === undefined ? [] : [{ to, ...(when !== undefined && { when }), set, args, at: map.at }];
}

function checkTarget(scope: Scope, place: Node, to: string, form: string, targets: Targets): void {
  if (targets.steps.has(to) || to === END_STEP) return;
  const message = `Step '${targets.from}' references unknown step '${to}' in ${form}`;
  const hint = didYouMean(to, [...targets.steps, END_STEP], 'define a step with this name, or route to `end`');
  scope.report.error('step.unknown-target', message, place, hint);
}

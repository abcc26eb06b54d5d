// `spec.headers`: which headers of a message may steer its execution. A directive that steers where a message goes must list what it
// may say, else the runtime ignores it: the sender of a message is nobody we know.
import type { JsonObject } from '../json/types.js';
import { expectList, expectMap, readMap } from '../playbook/fields.js';
import { child, type MapNode, mapToJson } from '../playbook/node.js';
import { fieldOf, type Scope } from '../playbook/scope.js';
import { didYouMean } from '../playbook/suggest.js';
import { requireText } from './fields.js';

/** What a header can control, and the key that must bound it. */
const CONTROLS: ReadonlyMap<string, 'allowed' | 'map' | null> = new Map([
  ['dispatch.playbook', 'allowed'],
  ['dispatch.execution_pool', 'allowed'],
  ['priority', 'map'],
  ['idempotency_key', null],
  ['content_type', null],
  ['schema_hint', null],
]);

const HINT = 'write `- { header: x-idempotency-key, controls: idempotency_key }`';

export function readHeaders(scope: Scope, spec: MapNode): JsonObject {
  const headers = readMap(scope, spec, 'headers', 'write `headers: { directives: […] }`');
  if (headers === undefined) return {};
  for (const item of expectList(scope, child(headers, 'directives'), HINT)?.items ?? []) {
    const directive = expectMap(scope, item, HINT);
    if (directive !== undefined) checkDirective(scope, directive);
  }
  return mapToJson(headers);
}

function checkDirective(scope: Scope, directive: MapNode): void {
  requireText(scope, directive, 'header', HINT);
  const controls = requireText(scope, directive, 'controls', HINT);
  if (controls === undefined) return;
  const bound = CONTROLS.get(controls);
  if (bound === undefined) {
    const message = `${fieldOf(directive)} controls '${controls}', which nothing reads`;
    const known = [...CONTROLS.keys()];
    scope.report.warning(
      'headers.unknown-control',
      message,
      directive,
      didYouMean(controls, known, `one of ${known.join(', ')}`),
    );
  } else if (bound !== null && child(directive, bound) === undefined) {
    const message = `${fieldOf(directive)} controls '${controls}' without \`${bound}\`, so it has no effect`;
    scope.report.warning(
      'headers.unbounded',
      message,
      directive,
      `list the values that a message may say under \`${bound}\``,
    );
  }
}

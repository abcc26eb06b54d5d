// `emit`: domain events that a step leaves behind, about the things it has touched.
import { expectMap, readMap, readText } from './fields.js';
import type { Emit } from './model.js';
import { child, type MapNode, mapToJson, type Node, toJson } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { checkTemplates, readCondition } from './templates.js';

const HINT = 'write `emit: { type: order.paid, object: { type: order, id: "{{ … }}" }, patch: { … } }`';
const NAME = /^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+$/;
/** Events with these beginnings are the engine's own. */
const RESERVED =
  /^(playbook|step|command|call|loop|next|ctx|signal|execution|subscription|workflow|stage|frame|iterator|action)[._]/;

export function readEmit(scope: Scope, node: Node | undefined): Emit[] | undefined {
  if (node === undefined) return undefined;
  const items = node.type === 'list' ? node.items : [node];
  return items.flatMap((item) => {
    const map = expectMap(scope, item, HINT);
    const emit = map === undefined ? undefined : readOne(scope, map);
    return emit === undefined ? [] : [emit];
  });
}

function readOne(scope: Scope, map: MapNode): Emit | undefined {
  checkTemplates(scope, map);
  const type = readText(scope, map, 'type');
  const object = readMap(scope, map, 'object', HINT);
  const objectType = readText(scope, object, 'type');
  const id = object === undefined ? undefined : child(object, 'id');
  const when = readCondition(scope, child(map, 'when'), `${fieldOf(map)}.when has invalid expression`);
  if (type === undefined || objectType === undefined || id === undefined) {
    const message = `${scope.subject}${fieldOf(map)} must have 'type' and 'object' with 'type' and 'id'`;
    scope.report.error('emit.incomplete', message, map, HINT);
    return undefined;
  }
  if (!NAME.test(type) || RESERVED.test(type)) {
    const reason = RESERVED.test(type) ? 'is a name of the engine' : 'must look like `order.paid`';
    const message = `${scope.subject}${fieldOf(map)}.type '${type}' ${reason}`;
    scope.report.error('emit.type', message, child(map, 'type') ?? map, 'name the thing and what happened to it');
    return undefined;
  }
  const patch = readMap(scope, map, 'patch');
  const state = readMap(scope, map, 'state');
  const status = readText(scope, map, 'status');
  const each = child(map, 'for');
  return {
    type,
    objectType,
    objectId: toJson(id),
    ...(patch === undefined ? {} : { patch: mapToJson(patch) }),
    ...(state === undefined ? {} : { state: mapToJson(state) }),
    ...(status === undefined ? {} : { status }),
    ...(when === undefined ? {} : { when }),
    ...(each === undefined ? {} : { each: toJson(each) }),
    as: readText(scope, map, 'as') ?? 'item',
  };
}

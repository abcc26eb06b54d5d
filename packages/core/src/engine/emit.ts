// Domain events: what a step says about the things it has touched. They move nothing; they are the history that `business-objects`
// (docs/playbook.md, "Leaving a history") is read from.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import type { Emit } from '../playbook/model.js';
import {
  type Condition,
  compileCondition,
  compileValue,
  contentOf,
  type Scope,
  TemplateError,
  type ValueTemplate,
} from '../template/index.js';
import { itemsOf } from './collection.js';
import type { Turn } from './turn.js';

/** One step does not flood the log by a slip of its author. */
const MAX_EVENTS = 1_000;

export interface CompiledEmit {
  readonly type: string;
  readonly as: string;
  readonly when: Condition | undefined;
  readonly each: ValueTemplate | undefined;
  readonly object: ValueTemplate;
}

export function compileEmit(emit: Emit): CompiledEmit {
  const { type, as, when, each, objectType, objectId, patch, state, status } = emit;
  return {
    type,
    as,
    when: when === undefined ? undefined : compileCondition(when),
    each: each === undefined ? undefined : compileValue(each),
    object: compileValue({
      object_type: objectType,
      object_id: objectId,
      ...(patch === undefined ? {} : { patch }),
      ...(state === undefined ? {} : { state }),
      ...(status === undefined ? {} : { status }),
    }),
  };
}

/** `scopeWith(locals)` is what the `set` of the step sees, and these names. */
export function emitObjects(
  turn: Turn,
  step: { readonly name: string; readonly run: number },
  emits: readonly CompiledEmit[],
  scopeWith: (locals: Record<string, unknown>) => Scope,
): void {
  let count = 0;
  for (const emit of emits) {
    const items =
      emit.each === undefined ? [undefined] : itemsOf(contentOf(emit.each.render(scopeWith({}))) as Json, 'emit.for');
    for (const item of items) {
      const scope = scopeWith(item === undefined ? {} : { [emit.as]: item });
      if (emit.when !== undefined && !emit.when.test(scope)) continue;
      if (++count > MAX_EVENTS) throw new TemplateError(`emit: a step leaves at most ${MAX_EVENTS} events`);
      const { status, ...object } = objectOf(emit.object.render(scope));
      turn.emit({
        type: 'object.emitted',
        eventType: emit.type,
        step: step.name,
        run: step.run,
        status: typeof status === 'string' && status !== '' ? status : null,
        object: { ...object, object_id: idText(object.object_id) },
      });
    }
  }
}

function idText(value: Json | undefined): string {
  const text = value === undefined || value === null ? '' : String(value);
  if (text === '') throw new TemplateError('emit: `object.id` is empty');
  return text;
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

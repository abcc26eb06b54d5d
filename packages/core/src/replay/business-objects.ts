// The projection `business_object`: the things of the user's own domain that events speak of, with their attributes. The key is `type/id`.
import type { Id } from '../ids/index.js';
import { count, dictionary, id, int64, list, object, optional, record, text } from './codec.js';
import { type Facts, type Int64, integerIn, textIn, withoutPrefix } from './event.js';
import { type ExactJson, type ExactObject, isExactObject, objectOrEmpty } from './exact-json.js';
import { PAYLOAD_REFERENCE, type PayloadReference } from './payload.js';

export interface ReplayBusinessObject {
  object_key: string;
  object_type: string;
  object_id: string;
  status: string;
  version: Int64;
  event_count: number;
  first_event_id: Id | undefined;
  last_event_id: Id | undefined;
  deleted_event_id: Id | undefined;
  last_event_type: string | undefined;
  attributes: Record<string, ExactJson>;
  payload_refs: PayloadReference[];
  last_payload_ref: PayloadReference | undefined;
}

export const BUSINESS_OBJECTS = dictionary(
  record<ReplayBusinessObject>({
    object_key: text,
    object_type: text,
    object_id: text,
    status: text,
    version: int64,
    event_count: count,
    first_event_id: optional(id),
    last_event_id: optional(id),
    deleted_event_id: optional(id),
    last_event_type: optional(text),
    attributes: object,
    payload_refs: list(PAYLOAD_REFERENCE),
    last_payload_ref: optional(PAYLOAD_REFERENCE),
  }),
);

export function foldBusinessObject(
  objects: Map<string, ReplayBusinessObject>,
  facts: Facts,
  payload: PayloadReference | undefined,
): void {
  const news = objectOrEmpty(facts.meta['business_object']);
  const identity = identityOf(news, facts);
  if (identity === undefined) return;
  const key = `${identity.type}/${identity.id}`;
  let known = objects.get(key);
  if (known === undefined) {
    known = newObject(key, identity, facts.id);
    objects.set(key, known);
  }
  known.last_event_id = facts.id;
  known.last_event_type = facts.type;
  known.event_count++;
  known.version = integerIn(news, 'version') ?? integerIn(facts.meta, 'business_object_version') ?? known.event_count;
  const status = facts.status || statusByName(facts.type);
  known.status = status || known.status;
  // Kept when the object comes back: it says that the object was deleted once.
  if (status === 'DELETED') known.deleted_event_id = facts.id;
  if (isExactObject(news['state'])) known.attributes = ownAttributes(news['state']);
  const patch = news['patch'] === undefined ? news['attributes'] : news['patch'];
  if (isExactObject(patch)) Object.assign(known.attributes, patch);
  if (payload !== undefined) {
    known.payload_refs.push(payload);
    known.last_payload_ref = payload;
  }
}

interface Identity {
  readonly type: string;
  readonly id: string;
}

/** From the description of the object, else from the event's own fields, else from the aggregate; both parts must be known. */
function identityOf(news: ExactObject, { meta, aggregateType, aggregateId }: Facts): Identity | undefined {
  let type =
    textIn(news, 'object_type') ??
    textIn(news, 'type') ??
    textIn(meta, 'business_object_type') ??
    textIn(meta, 'object_type');
  let objectId =
    textIn(news, 'object_id') ?? textIn(news, 'id') ?? textIn(meta, 'business_object_id') ?? textIn(meta, 'object_id');
  if (aggregateType === 'business_object' && aggregateId !== undefined) {
    const [first, ...rest] = withoutPrefix(aggregateId, 'business_object/').split('/').filter(Boolean);
    const isPath = first !== undefined && rest.length > 0;
    type ??= isPath ? first : 'business_object';
    objectId ??= isPath ? rest.join('/') : aggregateId;
  }
  return type === undefined || objectId === undefined ? undefined : { type, id: objectId };
}

function statusByName(eventType: string): string {
  const name = eventType.toLowerCase();
  if (name.endsWith('.deleted') || name.endsWith('.removed')) return 'DELETED';
  if (name.endsWith('.created') || name.endsWith('.updated') || name.endsWith('.upserted')) return 'ACTIVE';
  return '';
}

/** A copy that patches may change. Without a prototype, so that `__proto__` is a key like any other. */
function ownAttributes(attributes: ExactObject): Record<string, ExactJson> {
  const own: Record<string, ExactJson> = Object.create(null);
  return Object.assign(own, attributes);
}

/** Shares nothing that the fold goes on to change. */
export function copyBusinessObject(known: Readonly<ReplayBusinessObject>): ReplayBusinessObject {
  return { ...known, attributes: ownAttributes(known.attributes), payload_refs: [...known.payload_refs] };
}

function newObject(key: string, identity: Identity, eventId: Id): ReplayBusinessObject {
  return {
    object_key: key,
    object_type: identity.type,
    object_id: identity.id,
    status: 'UNKNOWN',
    version: 0,
    event_count: 0,
    first_event_id: eventId,
    last_event_id: undefined,
    deleted_event_id: undefined,
    last_event_type: undefined,
    attributes: ownAttributes({}),
    payload_refs: [],
    last_payload_ref: undefined,
  };
}

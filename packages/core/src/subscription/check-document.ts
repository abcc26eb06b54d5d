// Any document that people write for us, checked by the rules of its kind. What says no kind, or an unknown one, is taken for a playbook:
// its rules tell what is missing.
import { isObject } from '../json/index.js';
import { readYaml } from '../playbook/index.js';
import { type CheckedPlaybook, checkPlaybook } from '../validate.js';
import { type CheckedSubscription, checkSubscription } from './parse.js';

export type CheckedDocument = CheckedPlaybook & CheckedSubscription;

export function checkDocument(text: string): CheckedDocument {
  const { value } = readYaml(text);
  const kind = isObject(value) && typeof value.kind === 'string' ? value.kind.toLowerCase() : 'playbook';
  return kind === 'subscription' ? checkSubscription(text) : checkPlaybook(text);
}

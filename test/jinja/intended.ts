// Every difference from Jinja2 that we mean, each with its row in docs/templates.md. A row with a dialect explains a
// difference when Jinja2 taught that one rule (dialect.py) gives our answer; the others look at the two answers themselves.
import { isTemplate } from '../../packages/core/src/template/index.js';
import type { Case, Outcome } from './compare.js';

export interface Difference extends Case {
  readonly ours: Outcome;
  readonly jinja: Outcome;
  /** What Jinja2 answers with all dialects together. */
  readonly imitated: Outcome;
}

export interface Intended {
  readonly id: string;
  readonly reason: string;
  readonly dialect?: string;
  readonly explains?: (difference: Difference) => boolean;
}

const ONLY_HERE =
  /No (?:filter named '(?:split|lines|b64encode|b64decode|keys|values|get|len|bool|fromjson)'|test named '(?:null|list|empty|truthy|falsy|startingwith|startswith|endingwith|endswith)')|'now' is undefined/;

const NEEDS_INTEGER =
  /non-int of type 'float'|'float' object cannot be interpreted|indices must be integers|not float|float given/;

export const LIMITED = /too large|grows beyond|limited to/;

export const INTENDED: readonly Intended[] = [
  { id: 'nothing', dialect: 'nothing', reason: 'Undefined and none are one thing, printed as empty and lenient.' },
  { id: 'json-text', dialect: 'json-text', reason: 'Lists and maps print as JSON.' },
  {
    id: 'one-number',
    dialect: 'numbers',
    reason: 'JSON has one kind of number: 2.0 is 2, also where Python wants an integer.',
    explains: ({ ours, imitated }) => ours.ok && !imitated.ok && NEEDS_INTEGER.test(imitated.error),
  },
  { id: 'eager-lists', dialect: 'eager', reason: 'Filters and methods give lists, not generators and views.' },
  { id: 'tojson', dialect: 'tojson', reason: 'Compact, not escaped, keys in their own order; alone it is the value.' },
  { id: 'boolean-number', dialect: 'booleans', reason: 'A boolean is not a number to the tests.' },
  { id: 'sequence', dialect: 'sequence', reason: 'A sequence has positions: a map is none.' },
  { id: 'key-order', dialect: 'key-order', reason: 'Keys that look like indexes come first in a map literal.' },
  { id: 'text-keys', dialect: 'text-keys', reason: 'Keys of maps are text, as in JSON.' },
  { id: 'tuples', dialect: 'tuples', reason: 'Tuples are lists.' },
  { id: 'safe', dialect: 'safe', reason: 'Nothing is escaped by itself, so safe leaves a value as it is.' },
  { id: 'attr', dialect: 'attr', reason: 'Data has keys, not attributes.' },
  { id: 'sameas', dialect: 'sameas', reason: 'Data has no identity: sameas means equal.' },
  { id: 'case', dialect: 'case', reason: 'Only text is lower or upper.' },
  {
    id: 'only-here',
    reason: 'Filters, tests and functions that Jinja2 does not have.',
    explains: ({ ours, jinja }) => ours.ok && !jinja.ok && ONLY_HERE.test(jinja.error),
  },
  {
    id: 'refused-statements',
    reason: 'Statements that a playbook has no use for are refused by name.',
    explains: ({ ours, jinja }) => !ours.ok && jinja.ok && /is not supported in playbook templates/.test(ours.error),
  },
  {
    id: 'untouched-text',
    reason: 'Text without markers is no template.',
    explains: ({ template, ours }) => !isTemplate(template) && ours.ok && ours.value === template,
  },
  {
    id: 'test-then-if',
    reason: 'A test may be followed by an inline if; Jinja2 takes the word for an argument.',
    explains: ({ template, ours, jinja }) =>
      ours.ok && !jinja.ok && jinja.error.startsWith('TemplateSyntaxError') && /\bis (?:not )?\w+ if\b/.test(template),
  },
  {
    id: 'printed-arguments',
    dialect: 'printed',
    reason: 'Filters and methods of text print what is not text.',
    explains: ({ ours, imitated }) =>
      ours.ok && !imitated.ok && /expected str instance|must be str|arg must be str/.test(imitated.error),
  },
  {
    id: 'pairs',
    reason: 'A list of pairs counts as a map, text never does.',
    explains: ({ ours, jinja, imitated }) =>
      ours.ok
        ? !imitated.ok && /Can only get item pairs|'list' object has no attribute 'items'/.test(imitated.error)
        : jinja.ok && ours.error === 'expected a map, not text',
  },
  {
    id: 'unhashable',
    reason: 'Lists and maps may be looked up and made unique; nothing needs a hash.',
    explains: ({ ours, imitated }) => ours.ok && !imitated.ok && /unhashable type/.test(imitated.error),
  },
  {
    id: 'slice-of-scalar',
    reason: 'A slice of a number or a boolean is always an error, of a constant as well.',
    explains: ({ ours, jinja }) => !ours.ok && jinja.ok && ours.error.startsWith('cannot take a slice of a '),
  },
  {
    id: 'complex',
    reason: 'JSON has no complex numbers.',
    explains: ({ ours, jinja }) => !ours.ok && jinja.ok && /has no fractional power/.test(ours.error),
  },
  {
    id: 'limits',
    reason: 'Numbers and texts are bounded.',
    explains: ({ ours, jinja }) => !ours.ok && jinja.ok && LIMITED.test(ours.error),
  },
];

export const DIALECTS: readonly string[] = INTENDED.flatMap(({ dialect }) => dialect ?? []);

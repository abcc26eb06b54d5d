// JSON Schema of one step: guard, loop, tool, what it keeps, and where it goes next.
import {
  about,
  choice,
  count,
  example,
  flag,
  implies,
  list,
  map,
  offer,
  present,
  ref,
  requiredText,
  type Schema,
  seconds,
  suggestion,
  text,
} from './schema-forms.js';
import { setProperties } from './schema-tool.js';

const TARGET = requiredText('A step of this workflow, or `end`.');
const NEXT_MODE = (description: string): Schema =>
  suggestion(description, ['exclusive', 'inclusive'], { default: 'exclusive' });

export function stepSchemas(): Record<string, Schema> {
  return { step: step(), loop: loop(), next: next(), arc: arc(), set: set() };
}

function step(): Schema {
  return {
    type: 'object',
    description: 'A named step: an optional guard and loop, a tool, values to keep, and what follows.',
    required: ['step', 'tool'],
    properties: {
      step: requiredText('The name, unique in the playbook.'),
      desc: text('Text for people.'),
      description: about('The same as `desc`.'),
      tool: {
        description: 'What the step does: one tool, or a list of tools that run one after the other.',
        anyOf: [
          ref('tool'),
          { type: 'array', minItems: 1, items: ref('task'), description: 'A pipeline: tasks with unique labels.' },
        ],
      },
      input: map('Inputs; the `input` of the tool wins. Strings may be templates.'),
      args: map('Older name of `input`.'),
      ...setProperties(),
      vars: map('Older form of `set` with `ctx.` names.', {}, { deprecated: true }),
      when: ref('condition'),
      loop: ref('loop'),
      next: ref('next'),
      spec: stepSpec(),
      output: ref('output'),
      emit: about('Domain events this step leaves behind: `{type, object: {type, id}, patch}`, or a list.'),
      retry: about('Has no effect: write a rule with `do: retry` under `tool.spec.policy.rules`.', {
        deprecated: true,
      }),
      sink: about('Has no effect: add a step that stores the result.', { deprecated: true }),
      case: false,
      type: false,
    },
    ...example({ step: 'start', tool: { kind: 'noop' }, next: { arcs: [{ step: 'end' }] } }),
  };
}

function stepSpec(): Schema {
  const rules: Schema = { type: 'array', items: ref('admitRule') };
  return map('How the engine treats this step.', {
    next_mode: NEXT_MODE('`exclusive`: the first arc that matches; `inclusive`: every one. `next.spec.mode` wins.'),
    timeout: seconds('The longest time the step may take.'),
    on_error: choice(
      '`fail`, `continue` as if it had succeeded, or `retry` up to `max_attempts`.',
      ['fail', 'continue', 'retry'],
      { default: 'fail' },
    ),
    idempotent: flag('`false`: never run again after a lost worker.', true),
    max_attempts: {
      type: ['integer', 'string', 'null'],
      minimum: 1,
      pattern: '^\\s*\\d+\\s*$',
      description: 'How often the step may be tried; counts lost workers and, with `on_error: retry`, failures.',
      default: 3,
    },
    policy: map('Guards and failure.', {
      admit: {
        description: 'Whether the step may run at all; no rule means it may.',
        anyOf: [rules, map('Rules under `rules`.', { rules }, { required: ['rules'] }), { type: 'null' }],
      },
      failure: map('What a failure means for others.', {
        mode: suggestion('`fail_fast`: cancel running steps when this one fails unhandled.', ['fail_fast']),
      }),
      lifecycle: map('Older place of the time limit.', { timeout_s: seconds('The longest time the step may take.') }),
    }),
  });
}

function loop(): Schema {
  const frame = map('For `cursor`: how many rows are claimed and processed at a time.', {
    max_rows: about('Rows in one claim.'),
    row_concurrency: about('Rows processed at the same time.'),
    process: offer('The body runs per row or per frame.', ['row', 'frame']),
  });
  const mode = choice('One item after the other, side by side, or rows claimed from a table.', [
    'sequential',
    'parallel',
    'cursor',
  ]);
  const onError = choice('`stop` after the first failure, `continue` with the others, or `fail_fast`.', [
    'stop',
    'continue',
    'fail_fast',
    'fail',
  ]);
  const inFlight = count('For `parallel`: items at the same time.');
  return {
    type: ['object', 'null'],
    description: 'Runs the tool for every item of a collection, or for every row of a cursor.',
    required: ['iterator'],
    properties: {
      in: {
        type: ['string', 'array', 'object', 'number', 'null'],
        pattern: '\\S',
        description: 'The collection: a template, a list, or a number n for 0 to n-1.',
      },
      iterator: requiredText('Name of the variable that holds the item.', { pattern: '\\S' }),
      cursor: map('Rows claimed from a table, instead of `in`.', {
        kind: offer('Where the rows are.', ['postgres']),
        auth: about('Name of the credential.'),
        claim: about('SQL that claims the next rows and returns them.'),
      }),
      spec: map('How the items run.', {
        mode,
        max_in_flight: inFlight,
        on_error: onError,
        frame,
        policy: map('Hints and failure.', { on_error: onError }),
      }),
      mode,
      max_in_flight: inFlight,
      on_error: onError,
      frame,
    },
    ...implies({ type: 'object' }, { oneOf: [present('in'), present('cursor')] }),
    ...example({ in: '{{ workload.cities }}', iterator: 'city', spec: { mode: 'parallel', max_in_flight: 5 } }),
  };
}

function next(): Schema {
  const target: Schema = { anyOf: [TARGET, ref('arc')] };
  return {
    description: 'What follows: a router with arcs (or, older, a name or a list). Without it the branch ends here.',
    anyOf: [
      {
        type: 'object',
        description: 'A router: arcs in order, with a mode.',
        properties: {
          spec: map('How arcs are chosen.', {
            mode: NEXT_MODE('`exclusive`: the first arc that matches. `inclusive`: every one that matches.'),
            on_no_match: offer('What it means when no arc matches.', ['complete', 'quiet']),
          }),
          arcs: list('Arcs in order.', target),
          ...arcProperties(),
        },
      },
      { type: 'array', items: target, description: 'A list of names starts every branch; maps are arcs.' },
      requiredText('The one step that follows.'),
      { type: 'null' },
    ],
    ...example({ spec: { mode: 'exclusive' }, arcs: [{ step: 'big', when: '{{ total > 10 }}' }, { step: 'small' }] }),
  };
}

function arc(): Schema {
  return { type: 'object', description: 'A way to another step.', required: ['step'], properties: arcProperties() };
}

function arcProperties(): Record<string, Schema> {
  return {
    step: TARGET,
    when: ref('condition'),
    input: map('Values for the target: `args.<name>` there.'),
    args: map('Older name of `input`.'),
    ...setProperties(),
    desc: about('Text for people.'),
  };
}

function set(): Schema {
  return map(
    'Values to keep for later: `ctx.<name>` for the execution, `iter.<name>` in a loop, `step.<name>` here.',
    {},
    {
      ...example({ 'ctx.total': '{{ output.data.total }}' }),
    },
  );
}

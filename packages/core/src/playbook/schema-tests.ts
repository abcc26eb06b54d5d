// JSON Schema of the `tests` block, for editors. It is loose where the reader of tests is strict: whoever does not run tests must not be
// bothered by them.
import { about, choice, list, map, offer, type Schema, text } from './schema-forms.js';

export function testsSchema(): Schema {
  return list('Tests of this playbook, run by `noetl test` without a server.', {
    type: 'object',
    description: 'One run with mocked tools and what must come of it.',
    properties: {
      name: text('What it shows.'),
      payload: map('The payload of the start.'),
      env: map('What templates read as `env`.'),
      now: text('When the execution starts, such as `2030-01-31T08:00:00Z`.'),
      mocks: map('Step (or `step.task`) to its answer, or to a list of answers.', {}, { additionalProperties: mock() }),
      playbooks: about('Files of playbooks that steps with `run: true` may start.'),
      signals: list('Signals that come from outside.', {
        type: 'object',
        properties: {
          name: text('Name of the signal.'),
          after: about('When, after the start: `2m`.'),
          payload: about('What it brings.'),
        },
      }),
      cancel_after: about('Cancels the execution this long after its start.'),
      expect: expectation(),
    },
  });
}

function mock(): Schema {
  const answer: Schema = {
    type: 'object',
    properties: {
      when: about('Answers only when this holds; it sees `input`, `config`, `call` and `attempt`.'),
      result: about('The data of the tool. May hold templates over `input`.'),
      error: about('It fails: a message, or `{message, kind, code, retryable, …}`.'),
      takes: about('How long it takes, in the time of the test: `4s`.'),
      run: about('Really run the playbook that the step names, from `playbooks`.'),
      mocks: about('Mocks for the steps of that playbook.'),
    },
  };
  return { description: 'What the tool answers.', anyOf: [answer, { type: 'array', items: answer }, {}] };
}

function expectation(): Schema {
  return map('What must come of it. Maps are compared by the keys that are written here.', {
    status: choice('How it ends; RUNNING when it still waits.', ['COMPLETED', 'FAILED', 'CANCELLED', 'RUNNING'], {
      default: 'COMPLETED',
    }),
    path: list('Steps in the order they are entered; an inner list in any order.', {}),
    visited: about('Steps that are entered.'),
    not_visited: about('Steps that are not entered.'),
    skipped: about('Steps that are skipped.'),
    result: about('The result of the execution.'),
    steps: map('Step to its result.'),
    ctx: map('Values of the context at the end.'),
    calls: map('Step (or `step.task`) to how often its tool is called.'),
    calls_with: map('Step (or `step.task`) to its calls, one after the other: `[{input: …}]`.'),
    error: text('A part of the error, or `/a regular expression/`.'),
    duration: offer('How long it takes, in the time of the test.', ['0s']),
  });
}

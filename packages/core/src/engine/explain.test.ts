// Any execution that does not move can say why.
import { expect, it } from 'vitest';
import { waitingFor } from './explain.js';
import { given } from './simulation/story.js';

const tool = 'tool: { kind: noop }';
const diamond = `
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool}, next: j }
  - { step: c, ${tool}, next: j }
  - { step: j, ${tool} }`;

const why = (story: ReturnType<typeof given>) => waitingFor(story.compiled, story.state);

it('a command waits for a worker', () => {
  const story = given(diamond).start();
  expect(why(story)).toEqual([
    {
      kind: 'command_pending',
      step: 'a',
      commandId: story.command('a').commandId,
      pool: 'shared',
      attempt: 1,
      since: expect.any(String),
    },
  ]);
});

it('a worker runs a command', () => {
  const story = given(diamond).start();
  story.claim('a', 'w3');
  expect(why(story)).toMatchObject([{ kind: 'command_running', step: 'a', workerId: 'w3', attempt: 1 }]);
});

it('a join waits for the branches that are missing', () => {
  const story = given(diamond).start().does('a').does('b');
  expect(why(story)).toMatchObject([
    { kind: 'command_pending', step: 'c' },
    { kind: 'join', step: 'j', missing: ['c'] },
  ]);
});

it('a failed run waits for the commands that still run', () => {
  const story = given(diamond).start().does('a').fails('b', 'out of paper');
  expect(why(story)).toMatchObject([
    { kind: 'failure_draining', step: 'b', error: 'out of paper' },
    { kind: 'command_pending', step: 'c' },
  ]);
});

it('a run that is over waits for nothing', () => {
  expect(why(given(`  - { step: a, ${tool} }`).start().does('a'))).toEqual([]);
});

import type { MockAnswer } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { createMocks, type Mocks } from './mocks.js';

function mocksOf(...answers: MockAnswer[]): Mocks {
  return createMocks([{ name: 'fetch', path: '', at: { line: 1, column: 1 }, answers }]);
}

const result = (value: string | number, more: { when?: string } = {}): MockAnswer => ({
  type: 'result',
  result: value,
  takesMs: 0,
  ...more,
});

function resultsOf(mocks: Mocks, inputs: readonly Record<string, number>[]): unknown[] {
  return inputs.map((input) => {
    const answer = mocks.answer('fetch', { input, config: { url: 'http://a' }, attempt: 1 });
    return answer?.type === 'result' ? answer.result : answer;
  });
}

describe('a mock', () => {
  it('gives the same answer to every call', () => {
    expect(resultsOf(mocksOf(result('a')), [{}, {}, {}])).toEqual(['a', 'a', 'a']);
  });

  it('gives several answers one after the other, and stays at the last', () => {
    expect(resultsOf(mocksOf(result('a'), result('b')), [{}, {}, {}])).toEqual(['a', 'b', 'b']);
  });

  it('gives an answer with a condition whenever that holds, and does not use up the others', () => {
    const mocks = mocksOf(result('a'), result('big', { when: '{{ input.n > 3 }}' }), result('b'));
    expect(resultsOf(mocks, [{ n: 1 }, { n: 9 }, { n: 2 }, { n: 9 }])).toEqual(['a', 'big', 'b', 'big']);
  });

  it('has no answer when no condition holds', () => {
    expect(resultsOf(mocksOf(result('a', { when: '{{ input.n > 3 }}' })), [{ n: 1 }])).toEqual([undefined]);
  });

  it('renders its result with what it was called with', () => {
    expect(resultsOf(mocksOf(result('{{ input.n * 2 }}')), [{ n: 4 }])).toEqual([8]);
    expect(resultsOf(mocksOf(result('{{ n }} of {{ config.url }} at {{ call }}')), [{ n: 4 }])).toEqual([
      '4 of http://a at 1',
    ]);
  });
});

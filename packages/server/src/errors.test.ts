import { parseJson } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { ApiProblem, problemBody, toProblem } from './errors.js';

const never = () => false;

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe('what was thrown becomes a problem', () => {
  it('a problem stays what it is', () => {
    const problem = new ApiProblem('conflict', 'no');
    expect(toProblem(problem, never)).toBe(problem);
  });

  it.each([
    ['broken JSON', thrownBy(() => parseJson('{')), 400],
    ['a value no column can hold', Object.assign(new Error('invalid byte sequence'), { code: '22021' }), 422],
    [
      'a body that is too large',
      Object.assign(new Error('x'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }),
      413,
    ],
    ['an unknown error', new Error('secret detail'), 500],
    ['a text', 'secret detail', 500],
    ['a unique violation', Object.assign(new Error('secret detail'), { code: '23505' }), 500],
  ])('%s', (_, error, status) => {
    const problem = toProblem(error, never);
    expect(problem.status).toBe(status);
    expect(problem.message).not.toContain('secret detail');
  });

  it('a database that is away is 503 and worth a retry', () => {
    const problem = toProblem(new Error('x'), () => true);
    expect({ status: problem.status, headers: problem.headers }).toEqual({
      status: 503,
      headers: { 'retry-after': '1' },
    });
  });
});

it('the body has the error, the status and what older clients read', () => {
  expect(problemBody(new ApiProblem('not_found', 'gone', { extra: 1 }))).toEqual({
    error: 'gone',
    status: 404,
    code: 'not_found',
    message: 'gone',
    detail: { code: 'not_found', message: 'gone' },
    extra: 1,
  });
});

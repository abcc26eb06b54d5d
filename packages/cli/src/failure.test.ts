import { ApiError, UnreachableError } from '@noetl/client';
import { describe, expect, it } from 'vitest';
import { CliError, EXIT } from './errors.js';
import { explainFailure } from './failure.js';

const answer = (status: number) =>
  new ApiError({ status, body: { error: 'no', status }, method: 'GET', url: 'http://x', problem: 'no' });

describe('a failure', () => {
  it.each([
    [401, EXIT.unauthorised],
    [403, EXIT.unauthorised],
    [400, EXIT.usage],
    [422, EXIT.usage],
    [404, EXIT.error],
    [500, EXIT.error],
  ])('by HTTP %d gives exit code %d', (status, code) => {
    expect(explainFailure(answer(status))).toMatchObject({ code });
  });

  it('to reach the server gives exit code 6 and says how to start one', () => {
    const error = new UnreachableError({ problem: 'connection refused', method: 'GET', url: 'http://x' });
    expect(explainFailure(error)).toMatchObject({ code: EXIT.unreachable, hint: expect.stringContaining('noetl up') });
  });

  it('that we foresaw is one message without a stack', () => {
    const failure = explainFailure(new CliError('no such file', { exitCode: EXIT.usage, hint: 'write one' }));
    expect(failure).toEqual({ code: EXIT.usage, message: 'no such file', hint: 'write one' });
  });

  it('that we did not foresee shows its stack, because it is a bug', () => {
    expect(explainFailure(new TypeError('x is undefined')).stack).toContain('failure.test.ts');
  });
});

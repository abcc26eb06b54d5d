import { describe, expect, it } from 'vitest';
import { noopTool } from './noop.js';
import { toolCall } from './tool-call.fixture.js';

describe('the noop tool', () => {
  it('says that it did nothing', async () => {
    expect((await noopTool.run(toolCall({ kind: 'noop' }))).data).toEqual({ status: 'ok', message: 'noop' });
  });

  it('repeats the message it is given', async () => {
    const result = await noopTool.run(toolCall({ kind: 'noop', message: 'checked' }));
    expect(result).toEqual({ status: 'success', data: { status: 'ok', message: 'checked' } });
  });

  it('answers with the result it is given', async () => {
    expect((await noopTool.run(toolCall({ kind: 'noop', result: [1, 2] }))).data).toEqual([1, 2]);
  });
});

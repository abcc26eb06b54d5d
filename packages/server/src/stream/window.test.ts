import { describe, expect, it } from 'vitest';
import { publishWindow } from './window.js';

/** Messages whose acknowledgements the test sends. */
function message() {
  let ack = (): void => undefined;
  let fail = (_error: Error): void => undefined;
  const acknowledged = new Promise<void>((resolve, reject) => {
    ack = resolve;
    fail = reject;
  });
  return { acknowledged, ack, fail };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
const settled = async (work: Promise<unknown>) => {
  let is = false;
  void work.finally(() => {
    is = true;
  });
  await tick();
  return is;
};

describe('a window of four messages', () => {
  const filled = () => {
    const window = publishWindow({ messages: 4, bytes: 100 });
    const sent = [message(), message(), message(), message()];
    for (const { acknowledged } of sent) window.add(1, acknowledged);
    return { window, sent };
  };

  it('is full with four, and not before', () => {
    const window = publishWindow({ messages: 4, bytes: 100 });
    for (let n = 0; n < 4; n++) {
      expect(window.isFull(1)).toBe(false);
      window.add(1, message().acknowledged);
    }
    expect(window.isFull(1)).toBe(true);
  });

  it('has room when half of them are acknowledged', async () => {
    const { window, sent } = filled();
    const room = window.room();
    sent[0]?.ack();
    expect(await settled(room)).toBe(false);
    sent[1]?.ack();
    await room;
    expect(window.isFull(1)).toBe(false);
  });

  it('is acknowledged when everything in it is', async () => {
    const { window, sent } = filled();
    const acknowledged = window.acknowledged();
    for (const { ack } of sent.slice(1)) ack();
    expect(await settled(acknowledged)).toBe(false);
    sent[0]?.ack();
    await acknowledged;
  });

  it('hands a failure to whoever waits, now and later', async () => {
    const { window, sent } = filled();
    const room = window.room();
    sent[0]?.fail(new Error('no space'));
    await expect(room).rejects.toThrow('no space');
    expect(window.isFull(1)).toBe(true);
    await expect(window.room()).rejects.toThrow('no space');
    for (const { ack } of sent) ack();
    await expect(window.acknowledged()).rejects.toThrow('no space');
  });

  it('holds no more bytes than it may, and lets a larger message pass alone', async () => {
    const window = publishWindow({ messages: 4, bytes: 100 });
    const large = message();
    expect(window.isFull(1_000)).toBe(false);
    window.add(1_000, large.acknowledged);
    expect(window.isFull(1)).toBe(true);
    const room = window.room();
    large.ack();
    await room;
    expect(window.isFull(100)).toBe(false);
  });
});

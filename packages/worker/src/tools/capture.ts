// Keeps what a process prints, within a fixed amount of memory: the beginning and the end survive, the middle is
// dropped and the gap is marked.
import type { Readable } from 'node:stream';

export interface Capture {
  text(): string;
  truncated(): boolean;
}

export function captureStream(stream: Readable, limitBytes: number): Capture {
  const headLimit = Math.floor(limitBytes / 2);
  const tailLimit = limitBytes - headLimit;
  const head: Buffer[] = [];
  let headBytes = 0;
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let dropped = 0;

  const keep = (chunk: Buffer): void => {
    const room = headLimit - headBytes;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      head.push(part);
      headBytes += part.length;
      chunk = chunk.subarray(part.length);
    }
    if (chunk.length === 0) return;
    tail.push(chunk);
    tailBytes += chunk.length;
    // Compacting only at twice the limit makes the cost of a byte constant, whatever the size of the chunks.
    if (tailBytes > 2 * tailLimit) compact();
  };

  const compact = (): void => {
    if (tailBytes <= tailLimit) return;
    const joined = Buffer.concat(tail);
    const cut = joined.length - tailLimit;
    dropped += cut;
    // A copy: a view would keep the dropped bytes alive.
    tail = [Buffer.from(joined.subarray(cut))];
    tailBytes = tailLimit;
  };

  stream.on('data', keep);
  // A broken pipe of a killed process ends the capture; it is not an error of the tool.
  stream.on('error', () => undefined);

  return {
    text() {
      compact();
      const gap = dropped === 0 ? [] : [Buffer.from(`\n… ${dropped} bytes omitted …\n`)];
      return Buffer.concat([...head, ...gap, ...tail]).toString('utf8');
    },
    truncated() {
      compact();
      return dropped > 0;
    },
  };
}

/** The same for a text that is there already. */
export function clipMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} characters omitted …\n${text.slice(-half)}`;
}

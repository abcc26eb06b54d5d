// An upload, kept on disk until it is known to be whole: no transaction waits for a slow sender, and nothing of a damaged file is stored.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiProblem } from '../errors.js';
import { type ArchiveFooter, DamagedArchive, readFooter } from './archive-format.js';

const MAX_BYTES = 4 * 1024 ** 3;
const MAX_LINE = 64 * 1024 ** 2;
const LINE_FEED = 0x0a;

export interface Spool {
  readonly footer: ArchiveFooter;
  /** The header and the events. */
  lines(): AsyncGenerator<string>;
  remove(): Promise<void>;
}

/** @throws DamagedArchive when the last line does not confirm all others */
export async function spool(upload: AsyncIterable<Buffer>): Promise<Spool> {
  const folder = await mkdtemp(join(tmpdir(), 'noetl-import-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const path = join(folder, 'log');
  try {
    const footer = await receive(upload, path);
    return { footer, remove, lines: () => linesBefore(path, footer.events + 1) };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function receive(upload: AsyncIterable<Buffer>, path: string): Promise<ArchiveFooter> {
  const hash = createHash('sha256');
  const file = await open(path, 'w', 0o600);
  let bytes = 0;
  let lines = 0;
  // Only when another line has come is it known that this one was not the footer.
  let held: Buffer | undefined;
  try {
    const counted = async function* () {
      for await (const chunk of upload) {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) throw new ApiProblem('too_large', 'The log is larger than 4 GiB');
        await file.write(chunk);
        yield chunk;
      }
    };
    for await (const line of splitLines(counted())) {
      if (held !== undefined) {
        hash.update(held).update('\n');
        lines++;
      }
      held = line;
    }
  } finally {
    await file.close();
  }
  const footer = held === undefined ? undefined : readFooter(held.toString('utf8'));
  if (footer === undefined) throw new DamagedArchive('its end is missing: it was cut off');
  if (footer.events !== lines - 1)
    throw new DamagedArchive(`it has ${lines - 1} events, and its last line says ${footer.events}`);
  if (hash.digest('hex') !== footer.sha256)
    throw new DamagedArchive('it does not have the checksum that its last line says');
  return footer;
}

async function* linesBefore(path: string, count: number): AsyncGenerator<string> {
  let number = 0;
  for await (const line of splitLines(createReadStream(path) as AsyncIterable<Buffer>)) {
    if (++number > count) return;
    yield line.toString('utf8');
  }
}

/** By bytes: a chunk may end in the middle of a character. */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      length = 0;
      start = end + 1;
    }
    pieces.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_LINE) throw new ApiProblem('too_large', 'A line of the log is longer than 64 MiB');
  }
  if (length > 0) yield Buffer.concat(pieces);
}

// `noetl replay fold`: exported logs on stdin, one a line, to their states on stdout, one a line and in the same order, without a server.
// A line that cannot be folded gives `{"error", "line"}` in its place, so that the n-th answer stays the answer to the n-th question.
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { foldExportedLog, ReplayFormatError, readExportedLog, replayBody } from '@noetl/core';
import { EXIT, type ExitCode } from '../errors.js';
import { say } from '../terminal.js';

export async function fold(input: Readable = process.stdin, output: Writable = process.stdout): Promise<ExitCode> {
  let number = 0;
  let refused = 0;
  for await (const line of linesOf(input)) {
    number++;
    if (line.trim() === '') continue;
    let answer: string;
    try {
      answer = replayBody(foldExportedLog(readExportedLog(line)));
    } catch (error) {
      // Anything else is a defect of ours and must not look like a bad line.
      if (!(error instanceof ReplayFormatError || error instanceof SyntaxError)) throw error;
      refused++;
      // The line that counts is that of the input; a log has only one.
      const problem = error.message.replace(/, line 1 (column \d+)$/, ', $1');
      answer = JSON.stringify({ error: problem, line: number });
      say(`line ${number}: ${problem}`);
    }
    if (!output.write(`${answer}\n`)) await once(output, 'drain');
  }
  return refused === 0 ? EXIT.ok : EXIT.usage;
}

/** Lines end with a line feed and nothing else: node:readline also splits at U+2028, which JSON text may hold as it is. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  // A long line comes in many chunks; they are joined once, when its end is there.
  let pieces: string[] = [];
  input.setEncoding('utf8');
  for await (const chunk of input as AsyncIterable<string>) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      pieces.push(chunk.slice(start, end));
      yield pieces.join('');
      pieces = [];
      start = end + 1;
    }
    pieces.push(chunk.slice(start));
  }
  yield pieces.join('');
}

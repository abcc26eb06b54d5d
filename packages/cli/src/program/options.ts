// Options that several commands share, and how their values are read.
import { InvalidArgumentError, Option } from 'commander';
import { DEFAULT_DATA_DIR, DEFAULT_SERVER_URL } from '../connection-defaults.js';

export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

export const dataDir = () =>
  new Option('--data-dir <dir>', 'where the embedded database lives').default(DEFAULT_DATA_DIR);
export const server = () =>
  new Option('--server <url>', `server to talk to (default: the one of the data dir, else ${DEFAULT_SERVER_URL})`);
export const json = () => new Option('--json', 'one JSON document on stdout');
export const payload = () =>
  new Option('-p, --payload <key=value>', 'an input; repeatable; the value is JSON, else text')
    .default([])
    .argParser(collect);
export const payloadFile = () => new Option('--payload-file <file>', 'a JSON object with inputs (- for stdin)');
export const timeout = () => new Option('--timeout <duration>', 'cancel after 30s, 5m or a number of seconds');
export const concurrency = () =>
  new Option('--concurrency <n>', 'commands a worker runs at the same time').default(8).argParser(atLeast(1));

export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

/** Repeatable, where the first use replaces the default instead of adding to it. */
export function replaceDefault(): (value: string) => string[] {
  const values: string[] = [];
  return (value) => {
    values.push(value);
    return [...values];
  };
}

export function atLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < minimum) {
      throw new InvalidArgumentError(`It must be a whole number, at least ${minimum}.`);
    }
    return value;
  };
}

export function port(text: string): number {
  const value = atLeast(0)(text);
  if (value > 65_535) throw new InvalidArgumentError('It must be at most 65535.');
  return value;
}

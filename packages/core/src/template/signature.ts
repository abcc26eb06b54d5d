// The parameters of filters, tests, functions and methods, and how the arguments of a call are matched to them.
// Matching happens at compile time, so a wrong call is reported before anything runs.
import type { Args, Expr } from './ast.js';
import { TemplateError } from './error.js';
import { suggestion } from './suggest.js';

export interface Signature {
  readonly names: readonly string[];
  /** Position of every spelling by which a parameter can be named. */
  readonly positions: ReadonlyMap<string, number>;
  readonly required: number;
  /** Whether further positional arguments are handed through. */
  readonly rest: boolean;
}

/** Reads `'old new|by count? …'`: `|` adds a spelling, `?` makes a parameter optional, the ellipsis accepts more. */
export function signature(text: string): Signature {
  const words = text.split(' ').filter((word) => word !== '');
  const rest = words.at(-1) === '…';
  const params = rest ? words.slice(0, -1) : words;
  const spellings = params.map((word) => word.replace('?', '').split('|'));
  return {
    names: spellings.map(([name = '']) => name),
    positions: new Map(spellings.flatMap((names, index) => names.map((name) => [name, index] as const))),
    required: params.filter((word) => !word.endsWith('?')).length,
    rest,
  };
}

/** The argument expressions in the order of the parameters; undefined where the call leaves one out. */
export function matchArgs(what: string, expected: Signature, args: Args, at: number): (Expr | undefined)[] {
  const { names, positions, required, rest } = expected;
  if (args.positional.length > names.length && !rest) {
    const most = names.length === 0 ? 'no arguments' : names.length === 1 ? '1 argument' : `${names.length} arguments`;
    throw new TemplateError(`${what} takes ${required < names.length ? 'at most ' : ''}${most}`, { offset: at });
  }
  const matched: (Expr | undefined)[] = [...args.positional];
  for (const { name, value, at: where } of args.named) {
    const index = positions.get(name);
    if (index === undefined) {
      throw new TemplateError(`${what} has no argument '${name}'${suggestion(name, names)}`, { offset: where });
    }
    if (matched[index] !== undefined) {
      throw new TemplateError(`${what} is given its argument '${name}' twice`, { offset: where });
    }
    matched[index] = value;
  }
  for (let index = 0; index < required; index++) {
    if (matched[index] === undefined) {
      throw new TemplateError(`${what} needs its argument '${names[index]}'`, { offset: at });
    }
  }
  return Array.from(matched);
}

// Which names of a template are local (`set`, loop variables) and which are read from the scope. Locals live in numbered
// slots, resolved at compile time. A name set in only one branch may still mean the scope's value afterwards.

interface Slot {
  readonly index: number;
  /** Whether every path to the current point has assigned it. */
  definite: boolean;
}

export interface Names {
  readonly roots: Set<string>;
  /** Innermost block last. A loop body is a block; an `if` is not. */
  readonly blocks: Map<string, Slot>[];
  /** Slots that became definite inside the `if` branches being compiled, innermost last. */
  readonly branches: Slot[][];
  slots: number;
}

/** Marks a slot that has not been assigned on the path taken. */
export const UNSET = Symbol('unset');

export function createNames(): Names {
  return { roots: new Set(), blocks: [new Map()], branches: [], slots: 0 };
}

/** The slot an assignment to this name writes to. */
export function declare(names: Names, name: string): number {
  const block = names.blocks.at(-1) ?? new Map<string, Slot>();
  const slot = block.get(name) ?? { index: names.slots++, definite: false };
  block.set(name, slot);
  if (!slot.definite) {
    slot.definite = true;
    names.branches.at(-1)?.push(slot);
  }
  return slot.index;
}

export interface Resolution {
  /** Slots to look at, innermost first. */
  readonly slots: readonly number[];
  /** Whether the scope is asked when no slot is assigned. */
  readonly fromScope: boolean;
}

export function resolve(names: Names, name: string): Resolution {
  const slots: number[] = [];
  for (const block of names.blocks.toReversed()) {
    const slot = block.get(name);
    if (slot === undefined) continue;
    slots.push(slot.index);
    if (slot.definite) return { slots, fromScope: false };
  }
  names.roots.add(name);
  return { slots, fromScope: true };
}

/** Compiles something that may not run: what it sets is uncertain afterwards. */
export function inBranch<T>(names: Names, compile: () => T): T {
  names.branches.push([]);
  const result = compile();
  for (const slot of names.branches.pop() ?? []) slot.definite = false;
  return result;
}

/** Compiles a loop body: what it sets is invisible outside and forgotten between iterations. */
export function inBlock<T>(names: Names, compile: () => T): T {
  names.blocks.push(new Map());
  names.branches.push([]);
  const result = compile();
  names.branches.pop();
  names.blocks.pop();
  return result;
}

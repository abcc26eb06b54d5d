// The virtual clock of a test: what is due, in the order it is due. Time jumps from one entry to the next, so an hour costs nothing. What
// is due at the same moment comes in the order it was planned, except for what ends side by side: that may be shuffled by a seed.

export interface Agenda {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly now: string;
  plan(afterMs: number, work: Work, turn?: Turn): void;
  /** Moves the clock to what comes next; undefined when nothing is left. */
  next(): Work | undefined;
}

export type Work = () => void | Promise<void>;

/** `first`: before everything else of its moment. `any`: nothing in reality says which of its neighbours comes first. */
export type Turn = 'first' | 'planned' | 'any';

interface Entry {
  readonly at: number;
  readonly rank: number;
  readonly number: number;
  readonly work: Work;
}

/** Without a seed everything comes in the order it was planned. */
export function createAgenda(start: string, seed?: number): Agenda {
  const random = seed === undefined ? undefined : randomOf(seed);
  /** The next one is the last of the list. */
  const entries: Entry[] = [];
  let nowMs = Date.parse(start);
  let planned = 0;

  const rankOf = (turn: Turn): number => {
    if (turn === 'first') return -1;
    return turn === 'planned' || random === undefined ? 0 : random() - 0.5;
  };

  return {
    get nowMs() {
      return nowMs;
    },
    get now() {
      return new Date(nowMs).toISOString();
    },
    plan(afterMs, work, turn = 'planned') {
      const entry = { at: nowMs + Math.max(0, afterMs), rank: rankOf(turn), number: planned++, work };
      let low = 0;
      let high = entries.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (comesBefore(entry, entries[middle])) low = middle + 1;
        else high = middle;
      }
      entries.splice(low, 0, entry);
    },
    next() {
      const entry = entries.pop();
      if (entry !== undefined) nowMs = entry.at;
      return entry?.work;
    },
  };
}

function comesBefore(entry: Entry, other: Entry | undefined): boolean {
  if (other === undefined) return true;
  return (entry.at - other.at || entry.rank - other.rank || entry.number - other.number) < 0;
}

/** Mulberry32: small, and the same numbers everywhere. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

// A seeded source of chance: the same seed gives the same graph, the same interleaving and the same failure, on any machine.

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** In [low, high], both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** An independent stream, so that one more draw in one place does not change all others. */
  fork(name: string): Random;
}

export function createRandom(seed: number | string): Random {
  const origin = typeof seed === 'number' ? seed >>> 0 : hash(seed);
  let state = origin;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick(items) {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[between(0, items.length - 1)] as (typeof items)[number];
    },
    fork: (name) => createRandom(hash(`${origin}/${name}`)),
  };
}

/** One of the moves, each as likely as its weight says. */
export function weighted(random: Random, moves: readonly [number, () => void][]): () => void {
  let point = random.next() * moves.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, move] of moves) {
    point -= weight;
    if (point < 0) return move;
  }
  return (moves.at(-1) as [number, () => void])[1];
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

// The same work on every shard, side by side. A shard that is away keeps none of the others from theirs.
import type { Pools, Shard } from './pools.js';

/** Waits for all of them; then the first error, if there was one, is thrown. */
export async function eachShard<T>(
  { shards }: Pick<Pools, 'shards'>,
  work: (shard: Shard) => Promise<T>,
): Promise<T[]> {
  const ended = await Promise.allSettled(shards.map(work));
  return ended.map((end) => {
    if (end.status === 'rejected') throw end.reason;
    return end.value;
  });
}

/**
 * What the shards answered that could be asked, for questions that one of them is enough to answer. Throws when the answer may be with one
 * that is away: `isAnswered` says whether what is there suffices.
 */
export async function fromAnyShard<T>(
  { shards }: Pick<Pools, 'shards'>,
  ask: (shard: Shard) => Promise<T>,
  isAnswered: (answers: readonly T[]) => boolean,
): Promise<T[]> {
  const ended = await Promise.allSettled(shards.map(ask));
  const answers = ended.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  const failure = ended.find((end) => end.status === 'rejected');
  if (failure !== undefined && !isAnswered(answers)) throw failure.reason;
  return answers;
}

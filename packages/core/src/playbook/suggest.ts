// "Did you mean …?": the closest known word by edit distance, or nothing when no word is close.

// Distance is quadratic in length, and nobody mistypes a name this long by one letter.
const MAX_WORD_LENGTH = 64;
const MAX_CANDIDATES = 2_000;

/** The closest candidate within about a third of the word's length, ignoring case. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length === 0 || word.length > MAX_WORD_LENGTH) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  let tried = 0;
  for (const candidate of candidates) {
    if (++tried > MAX_CANDIDATES) break;
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** A sentence for a hint; `otherwise` when nothing is close. */
export function didYouMean(word: string, candidates: Iterable<string>, otherwise: string): string;
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined;
export function didYouMean(word: string, candidates: Iterable<string>, otherwise?: string): string | undefined {
  const candidate = closest(word, candidates);
  return candidate === undefined ? otherwise : `did you mean \`${candidate}\`?`;
}

/** Insertions, deletions, substitutions and swaps of neighbours (`htpp` is one slip away from `http`). */
export function editDistance(a: string, b: string): number {
  let twoBack: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (twoBack[j - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    twoBack = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

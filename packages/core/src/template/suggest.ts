// "did you mean …": picks the known name closest to a misspelt one, or none when nothing is close.

export function suggestion(word: string, known: Iterable<string>): string {
  // Comparing costs the product of the lengths, and nobody misspells a name at such length.
  if (word.length > 40) return '';
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best === undefined ? '' : `; did you mean '${best}'?`;
}

/** Insertions, deletions, substitutions and swaps of neighbours (`fro` is one step from `for`). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? beforeLast[j - 2] : undefined;
      current.push(
        Math.min(
          (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
          (last[j] ?? 0) + 1,
          (current[j - 1] ?? 0) + 1,
          swapped === undefined ? Number.POSITIVE_INFINITY : swapped + 1,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

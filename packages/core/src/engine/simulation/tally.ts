// What the seeds have met on their way: a simulation that never meets a thing proves nothing about it.
export type Tally = Record<string, number>;

export function count(tally: Tally, what: string, by = 1): void {
  tally[what] = (tally[what] ?? 0) + by;
}

export interface CorpusRow {
  readonly file: string;
  readonly total: number;
  readonly identical: number;
  /** How many of the identical ones are so only once null ids are spelled "null". */
  readonly nullIds: number;
  readonly differences: readonly string[];
}

export function checkReplayCorpus(
  fold: (logs: readonly string[]) => readonly string[] | Promise<readonly string[]>,
): Promise<CorpusRow[] | undefined>;

export function replayTable(rows: readonly CorpusRow[] | undefined): string;

// Cursor loops of random playbooks: a table whose rows are claimed frame by frame, and what its tool answers to a claim.
import type { Json, JsonObject } from '../../json/types.js';
import type { Loop } from '../../playbook/model.js';
import type { EventRow } from '../row.js';
import type { Random } from './random.js';
import { objectOf } from './rows.js';

export interface TablePlan {
  readonly model: Loop;
  /** Rows are numbered from 0. */
  readonly rows: number;
  readonly maxRows: number;
  readonly rowConcurrency: number;
  readonly process: 'row' | 'frame';
  readonly lanes: number;
  /** Rows whose body fails. */
  readonly bad: ReadonlySet<number>;
  /** The frame whose claim fails. */
  readonly badClaim: number | undefined;
}

export function planTable(random: Random, troubled: boolean): TablePlan {
  const rows = random.pick([0, 1, 3, 5, 9]);
  const maxRows = random.between(1, 4);
  const rowConcurrency = random.between(1, 3);
  const process = random.chance(0.3) ? 'frame' : 'row';
  const lanes = random.pick([1, 1, 2, 3]);
  const onError = random.pick(['stop', 'continue', 'fail_fast'] as const);
  const bad = new Set<number>();
  const breaks = troubled || (onError === 'continue' && random.chance(0.5));
  for (let row = 0; breaks && row < rows; row++) if (random.chance(0.3)) bad.add(row);
  const frame: JsonObject = {
    max_rows: random.chance(0.5) ? maxRows : `{{ ${maxRows} }}`,
    row_concurrency: rowConcurrency,
    ...(process === 'frame' || random.chance(0.5) ? { process } : {}),
  };
  return {
    model: {
      iterator: 'row',
      mode: 'cursor',
      cursor: { kind: 'postgres', claim: 'claim {{ __frame_max_rows }}' },
      frame,
      onError,
      ...(lanes === 1 && random.chance(0.5) ? {} : { maxInFlight: lanes }),
    },
    rows,
    maxRows,
    rowConcurrency,
    process,
    lanes,
    bad,
    // As many frames as this are claimed for certain: the rows fill all but the last.
    badClaim: troubled && random.chance(0.4) ? random.between(0, Math.ceil(rows / maxRows)) : undefined,
  };
}

/** How a visit must end. `lost` counts failed bodies; only whether there were any is certain. */
export function tableOutcome({ model, bad, badClaim }: TablePlan): { failed: boolean; lost: number } {
  return { failed: badClaim !== undefined || (bad.size > 0 && model.onError !== 'continue'), lost: bad.size };
}

/** The numbers of the rows that a body was given. */
export function rowsGiven(issued: EventRow | undefined): number[] {
  const { row } = objectOf(objectOf(issued?.context).args);
  return numbersOf(Array.isArray(row) ? row : [row ?? null]);
}

/** A claim may answer in several shapes. */
export function claimAnswer(random: Random, rows: readonly number[]): Json {
  const records = rows.map((n) => ({ n }));
  return random.pick<Json>([
    records,
    { rows: records },
    { data: { rows: records } },
    { columns: ['n'], rows: rows.map((n) => [n]) },
    { columns: [{ name: 'n' }], rows: rows.map((n) => [n]) },
  ]);
}

/** The numbers in what a claim answered, whatever its shape. */
export function rowsAnswered(data: Json): number[] {
  if (Array.isArray(data)) return numbersOf(data);
  const { rows, data: inner } = objectOf(data);
  return Array.isArray(rows) ? numbersOf(rows) : inner === undefined ? [] : rowsAnswered(inner);
}

const numbersOf = (rows: readonly Json[]): number[] =>
  rows.map((row) => Number(Array.isArray(row) ? row[0] : objectOf(row).n));

// What was cleaned up, at zero from the start.
import { Counter, type Registry } from 'prom-client';
import { PURGED_TABLES, type PurgedTable } from './rules.js';

export interface CleanupMetrics {
  purged(table: PurgedTable, rows: number): void;
}

export function createCleanupMetrics(registry: Registry): CleanupMetrics {
  const purged = new Counter({
    name: 'noetl_cleanup_rows_purged_total',
    help: 'Rows (for event_partition: partitions) removed by retention',
    labelNames: ['table'],
    registers: [registry],
  });
  for (const table of PURGED_TABLES) purged.inc({ table }, 0);
  return { purged: (table, rows) => purged.inc({ table }, rows) };
}

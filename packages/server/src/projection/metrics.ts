// Counters of the projections, at zero from the start.
import { Counter, type Registry } from 'prom-client';

export interface ProjectionMetrics {
  projected(stored: number, duplicates: number): void;
  materialized(stored: number): void;
  rejected(events: number): void;
  advanced(): void;
}

export function createProjectionMetrics(registry: Registry): ProjectionMetrics {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] });
  const projected = counter('noetl_events_projected_total', 'Events stored by events/project');
  const duplicates = counter('noetl_events_projected_duplicates_total', 'Events that events/project had stored before');
  const materialized = counter('noetl_events_materialized_total', 'Events stored by events/materialize');
  const rejected = counter('noetl_events_rejected_total', 'Events that could not be projected or materialized');
  const advanced = counter('noetl_projection_advanced_total', 'Snapshots computed');
  return {
    projected(stored, repeated) {
      projected.inc(stored);
      duplicates.inc(repeated);
    },
    materialized: (stored) => materialized.inc(stored),
    rejected: (events) => rejected.inc(events),
    advanced: () => advanced.inc(),
  };
}

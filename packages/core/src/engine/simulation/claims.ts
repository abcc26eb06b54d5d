// The tool that claims rows of a cursor's table. It honours the command id: the same command gets the same rows, whoever runs it; rows
// of a claim that came to nothing are free again.
import type { Json } from '../../json/types.js';
import type { Cluster } from './cluster.js';
import type { StepPlan } from './graphs.js';
import type { Random } from './random.js';
import { detailOf, metaOf, objectOf } from './rows.js';
import { claimAnswer, rowsAnswered } from './tables.js';

interface Claim {
  readonly commandId: string;
  readonly step: string;
  readonly run: number;
}

export interface Claims {
  answer(claim: Claim, plan: StepPlan): Json;
}

export function createClaims(cluster: Cluster, random: Random): Claims {
  const given = new Map<string, { claim: Claim; rows: readonly number[]; data: Json }>();

  return {
    answer(claim, { table }) {
      if (table === undefined) throw new Error(`'${claim.step}' has no table`);
      const known = given.get(claim.commandId);
      if (known !== undefined) return known.data;
      const taken = new Set([...rowsInLog(claim), ...rowsOnTheirWay(claim)]);
      const free = Array.from({ length: table.rows }, (_, row) => row).filter((row) => !taken.has(row));
      const rows = free.slice(0, table.maxRows);
      const data = claimAnswer(random, rows);
      given.set(claim.commandId, { claim, rows, data });
      return data;
    },
  };

  function rowsOnTheirWay({ step, run }: Claim): number[] {
    return [...given.values()].flatMap(({ claim, rows }) =>
      claim.step === step && claim.run === run && cluster.folded.commands[claim.commandId] !== undefined ? rows : [],
    );
  }

  function rowsInLog({ step, run }: Claim): number[] {
    const answered = new Map<string, number[]>();
    const rows: number[] = [];
    for (const row of cluster.log) {
      const issued = row.node_name === step ? cluster.issued.get(row.command_id ?? '') : undefined;
      if (issued === undefined || metaOf(issued).run !== run) continue;
      if (objectOf(metaOf(issued).cursor).phase !== 'claim') continue;
      if (row.event_type === 'call.done') {
        const { data } = objectOf(objectOf(detailOf(row).result).context);
        answered.set(issued.command_id ?? '', rowsAnswered(data ?? null));
      }
      if (row.event_type === 'command.completed') rows.push(...(answered.get(issued.command_id ?? '') ?? []));
    }
    return rows;
  }
}

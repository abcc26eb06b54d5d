// What the references of a state point to: checksum, size and rows of each, never the payload itself. Bounded in every direction,
// because a log may hold any number of references to results of any size.
import {
  canonicalText,
  type ExactJson,
  locatorOf,
  type PayloadResolution,
  parseExactJson,
  parseRef,
  payloadReferencesOf,
  type ReplayState,
  resolutionRow,
  resolutionSummary,
  resolvedPayload,
  unresolvedPayload,
} from '@noetl/core';
import type { Pools } from '../db/index.js';
import { readResult } from '../results/index.js';

const MAX_REFERENCES = 1_000;
/** The store takes results of up to 64 MiB, so this bounds the memory, too. */
const AT_ONCE = 2;
const PATIENCE_MS = 30_000;

/** @returns `{"payload_resolution": […], "payload_resolution_summary": {…}}` */
export async function resolvePayloads(pools: Pools, state: ReplayState): Promise<string> {
  const placed = payloadReferencesOf(state);
  const unique = new Map(placed.map(({ reference }) => [keyOf(reference), reference]));
  const resolved = new Map<string, PayloadResolution>();
  const waiting = [...unique.entries()];
  const until = Date.now() + PATIENCE_MS;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [key, reference] = next;
      const refusal =
        resolved.size >= MAX_REFERENCES ? 'too many references' : Date.now() > until ? 'no time left' : undefined;
      const locator = locatorOf(reference);
      resolved.set(key, refusal === undefined ? await resolve(pools, locator) : unresolvedPayload(locator, refusal));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const rows = placed.map((one) => {
    const known = resolved.get(keyOf(one.reference));
    const resolution = known ?? unresolvedPayload(locatorOf(one.reference), 'not resolved');
    return resolutionRow(one, resolution);
  });
  return canonicalText({ payload_resolution: rows, payload_resolution_summary: resolutionSummary(rows) });
}

async function resolve(pools: Pools, locator: string | undefined): Promise<PayloadResolution> {
  const address = locator === undefined ? undefined : parseRef(locator);
  if (locator === undefined || address === undefined) return unresolvedPayload(locator, 'not a result of this store');
  const { pool } = pools.forExecution(address.executionId);
  const stored = await readResult(pool, address.executionId, address.resultId);
  if (stored === undefined) return unresolvedPayload(locator, 'the result is gone: it expired, or was deleted');
  return resolvedPayload(locator, parseExactJson(stored.text));
}

/** References without a locator are told apart by what they say. */
function keyOf(reference: ExactJson): string {
  return locatorOf(reference) ?? canonicalText(reference);
}

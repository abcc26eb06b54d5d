// The shared corpus of logs (../shared/corpus/replay, when it is there): states that another implementation computed from logs that none of us
// wrote. Plain JavaScript, because `npm run conformance` prints the same table that corpus.test.ts checks.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CORPUS = fileURLToPath(new URL('../../../shared/corpus/replay', import.meta.url));
const CASES = ['rust_clean.jsonl', 'rust_quirks.jsonl'];

/** To the other implementation an id that is null is called "null"; to us it is absent. A log that says "null" means the same to both. */
const NULL_ID =
  /"(stage_id|frame_id|command_id|loop_id|loop_event_id|__loop_epoch_id|parent_\w+|worker_id|worker_locator|kind|step_name|(?:business_)?object_(?:type|id)|type|id)": null/g;

/**
 * @param fold the bodies of exported logs, given and answered as texts in the same order
 * @returns one row a file, or undefined when the corpus is not there
 */
export async function checkReplayCorpus(fold) {
  if (!existsSync(CORPUS)) return undefined;
  const rows = [];
  for (const file of CASES) rows.push(await checkCases(file, fold));
  rows.push(await checkFixture(fold));
  return rows;
}

/** The table for people; one line when there is nothing to check. */
export function replayTable(rows) {
  if (rows === undefined) return `The corpus of logs is not there (${CORPUS}); nothing was checked.`;
  const lines = rows.map(({ file, total, identical, nullIds, differences }) =>
    [
      file.padEnd(22),
      `${identical} of ${total} identical`,
      ...(nullIds > 0 ? [`${nullIds} of them once null ids are spelled "null"`] : []),
      ...differences.map((difference) => `\n    ${difference}`),
    ].join('  '),
  );
  return ['replay: logs folded to the states that another implementation gives', ...lines].join('\n  ');
}

async function checkCases(file, fold) {
  const cases = read(file).trimEnd().split('\n').map(splitCase);
  const bodies = await fold(cases.map(({ input }) => input));
  const spelled = await fold(cases.map(({ input }) => input.replace(NULL_ID, '"$1": "null"')));
  const row = { file, total: cases.length, identical: 0, nullIds: 0, differences: [] };
  for (const [index, { expected }] of cases.entries()) {
    if (bodies[index] === expected) row.identical++;
    else if (spelled[index] === expected) {
      row.identical++;
      row.nullIds++;
    } else row.differences.push(`line ${index + 1}: ${firstDifference(bodies[index], expected)}`);
  }
  return row;
}

/** As text: a parsed and rewritten body would no longer be byte for byte what was recorded. */
function splitCase(line) {
  const at = line.indexOf(',"expected":');
  return { input: line.slice('{"input":'.length, at), expected: line.slice(at + ',"expected":'.length, -1) };
}

/** One story with every projection: the recorded body, and each leaf of the description of it. */
async function checkFixture(fold) {
  const [body = ''] = await fold([read('parity_case.jsonl').trimEnd()]);
  const recorded = read('parity_case.rust_output.json').trimEnd();
  const state = JSON.parse(body);
  const leaves = [...leavesOf(JSON.parse(read('parity_expected.json')))];
  const wrong = leaves.flatMap(([path, value]) => {
    const found = path.reduce((node, key) => node?.[key], state) ?? null;
    return found === value ? [] : [`${path.join('.')}: ${JSON.stringify(found)}, expected ${JSON.stringify(value)}`];
  });
  return {
    file: 'parity fixture, leaves',
    total: leaves.length,
    identical: leaves.length - wrong.length,
    nullIds: 0,
    differences: body === recorded ? wrong : [...wrong, firstDifference(body, recorded)],
  };
}

function* leavesOf(node, path = []) {
  if (typeof node !== 'object' || node === null) yield [path, node];
  else for (const [key, child] of Object.entries(node)) yield* leavesOf(child, [...path, key]);
}

function firstDifference(body = '', expected = '') {
  let at = 0;
  while (at < expected.length && body[at] === expected[at]) at++;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 40));
  return `at ${at}: ${around(body)}, expected ${around(expected)}`;
}

function read(file) {
  return readFileSync(join(CORPUS, file), 'utf8');
}

// Logs that none of us wrote fold to the very bytes that another implementation gives (../shared/corpus/replay, when it is there;
// `npm run conformance` prints the table).
import { expect, it } from 'vitest';
import { foldExportedLog, readExportedLog, replayBody } from '../../packages/core/src/index.js';
import { checkReplayCorpus, replayTable } from './corpus.mjs';

it('every log of the corpus folds to the recorded state', async () => {
  const rows = await checkReplayCorpus((logs) => logs.map((log) => replayBody(foldExportedLog(readExportedLog(log)))));
  if (rows === undefined) return console.log(replayTable(rows));
  expect(rows).toEqual([
    { file: 'rust_clean.jsonl', total: 120, identical: 120, nullIds: 0, differences: [] },
    { file: 'rust_quirks.jsonl', total: 120, identical: 120, nullIds: 2, differences: [] },
    { file: 'parity fixture, leaves', total: 85, identical: 85, nullIds: 0, differences: [] },
  ]);
});

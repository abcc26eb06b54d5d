import { expect, it } from 'vitest';
import { foldExportedLog, readExportedLog } from './exported-log.js';
import { restoreReplayState, type StoredReplayState, storeReplayState } from './snapshot.js';
import { replayBody } from './state.js';

const state = foldExportedLog(
  readExportedLog('{"execution_id":1,"events":[{"event_id":5,"meta":{"object_type":"t","object_id":1.0}}]}'),
);

function stored(change: Partial<StoredReplayState> = {}): StoredReplayState {
  const row = storeReplayState(state);
  if (row === undefined) throw new Error('a state with events can be stored');
  return { ...row, ...change };
}

it('a stored state comes back as it was', () => {
  const restored = restoreReplayState(stored());
  expect(restored.usable && replayBody(restored.state)).toBe(replayBody(state));
});

it('is filed under its execution and projection, with its last event and its checksum', () => {
  expect(stored()).toMatchObject({
    aggregate_id: 'execution/1/all',
    aggregate_type: 'replay_state',
    version: '5',
    checksum: state.checksum.value,
    meta: { fold_version: 1, event_count: 1 },
  });
});

it('a state without events is not worth storing', () => {
  expect(storeReplayState(foldExportedLog(readExportedLog('{"execution_id":1,"events":[]}')))).toBeUndefined();
});

it.each<[string, Partial<StoredReplayState>, string | undefined, string]>([
  ['of other rules', { meta: { fold_version: 2 } }, undefined, 'other_fold'],
  ['of unknown rules', { meta: null }, undefined, 'other_fold'],
  ['that is cut off', { snapshot: replayBody(state).slice(0, -1) }, undefined, 'unreadable'],
  ['of another moment', { version: state.execution_id }, undefined, 'other_log'],
  ['of another execution', { aggregate_id: 'execution/2/all' }, undefined, 'other_log'],
  ['with another checksum', { checksum: '0'.repeat(64) }, undefined, 'changed'],
  ['that jsonb has respelled', { snapshot: replayBody(state).replaceAll('t/1.0', 't/1') }, undefined, 'changed'],
  ['of a log that passed other upcasters', {}, 'digest', 'other_upcasters'],
])('a stored state %s is not used', (_, change, digest, problem) => {
  expect(restoreReplayState(stored(change), digest)).toEqual({ usable: false, problem });
});

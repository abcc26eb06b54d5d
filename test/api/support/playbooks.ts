// Small playbooks for API tests: what their steps do does not matter, the tests report whatever they like.
import { stringify } from 'yaml';

export interface StepText {
  readonly step: string;
  readonly next?: readonly string[];
  readonly tool?: object;
}

export function playbook(path: string, steps: readonly StepText[], more: object = {}): string {
  return stringify({
    apiVersion: 'noetl.io/v2',
    kind: 'Playbook',
    metadata: { name: path.split('/').at(-1), path },
    ...more,
    workflow: steps.map(({ step, next = [], tool = { kind: 'noop' } }) => ({
      step,
      tool,
      ...(next.length === 0
        ? {}
        : { next: { spec: { mode: 'inclusive' }, arcs: next.map((name) => ({ step: name })) } }),
    })),
  });
}

/** `start`, `step_2`, … one after the other. */
export function chain(path: string, length: number, more: object = {}): string {
  const name = (index: number) => (index === 0 ? 'start' : `step_${index + 1}`);
  return playbook(
    path,
    Array.from({ length }, (_, index) => ({ step: name(index), next: index + 1 < length ? [name(index + 1)] : [] })),
    more,
  );
}

/** `start`, then `width` steps side by side. */
export function fan(path: string, width: number): string {
  const names = Array.from({ length: width }, (_, index) => `branch_${index + 1}`);
  return playbook(path, [{ step: 'start', next: names }, ...names.map((step) => ({ step }))]);
}

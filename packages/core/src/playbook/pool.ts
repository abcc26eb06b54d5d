// Which worker pool serves a playbook when the execute request names none.

export type PlaybookPool = 'system' | 'subscription' | 'shared';

export function playbookPool(path: string): PlaybookPool {
  if (path.startsWith('system/')) return 'system';
  if (path.startsWith('subscription/')) return 'subscription';
  return 'shared';
}

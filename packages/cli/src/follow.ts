// Follows one execution to its end and shows its tree on the way. A timeout or Ctrl-C cancels the execution and still waits,
// shortly, to see it end, so that the last picture is the true one.
import type { NoetlClient } from '@noetl/client';
import { CliError, EXIT, type ExitCode } from './errors.js';
import { emptyTree, isTerminal, reduceEvent, reduceStatus, type TreeState } from './tree/state.js';
import type { TreeView } from './tree/view.js';

export interface FollowOptions {
  readonly client: Pick<NoetlClient, 'stream' | 'cancel' | 'status'>;
  readonly executionId: string;
  readonly path: string;
  readonly view: TreeView;
  readonly timeoutMs?: number | undefined;
  /** Aborts when the user presses Ctrl-C. */
  readonly interrupt: AbortSignal;
}

export interface Outcome {
  readonly tree: TreeState;
  /** Why we cancelled it, when we did. */
  readonly gaveUp?: 'timeout' | 'interrupt';
}

const CANCEL_PATIENCE_MS = 10_000;

export async function followExecution(options: FollowOptions): Promise<Outcome> {
  const { client, executionId, interrupt, timeoutMs, view } = options;
  const closed = new AbortController();
  let gaveUp: Outcome['gaveUp'];
  let patience: NodeJS.Timeout | undefined;

  const giveUp = (reason: 'timeout' | 'interrupt') => {
    if (gaveUp !== undefined) return;
    gaveUp = reason;
    patience = setTimeout(() => closed.abort(), CANCEL_PATIENCE_MS);
    const why = reason === 'timeout' ? 'timed out on the command line' : 'interrupted on the command line';
    // When even the cancel fails there is nothing left to wait for.
    client.cancel(executionId, { reason: why }).catch(() => closed.abort());
  };
  const onInterrupt = () => giveUp('interrupt');
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => giveUp('timeout'), timeoutMs);
  interrupt.addEventListener('abort', onInterrupt, { once: true });
  if (interrupt.aborted) onInterrupt();

  try {
    const tree = await readToEnd(options, closed.signal);
    return { tree, ...(gaveUp === undefined ? {} : { gaveUp }) };
  } finally {
    clearTimeout(timer);
    clearTimeout(patience);
    interrupt.removeEventListener('abort', onInterrupt);
    closed.abort();
    view.close();
  }
}

/** The client reconnects by itself, so the stream ends only with the execution, by our signal, or for good. */
async function readToEnd({ client, executionId, path, view }: FollowOptions, signal: AbortSignal): Promise<TreeState> {
  let tree = emptyTree(executionId, path);
  view.update(tree);
  for await (const message of client.stream(executionId, { signal })) {
    tree = message.event === 'event' ? reduceEvent(tree, message.data) : reduceStatus(tree, message.data.status);
    view.update(tree);
    if (isTerminal(tree.status)) return tree;
  }
  if (signal.aborted) return tree;
  // The server had nothing to stream: it ended before we came, and its events are no longer kept.
  return reduceStatus(tree, (await client.status(executionId)).status);
}

export function exitCodeOf({ tree, gaveUp }: Outcome): ExitCode {
  if (tree.status === 'COMPLETED') return EXIT.ok;
  if (tree.status === 'FAILED') return EXIT.failed;
  if (gaveUp === 'timeout') return EXIT.timeout;
  if (gaveUp === 'interrupt' || tree.status === 'CANCELLED') return EXIT.cancelled;
  throw new CliError(`Execution ${tree.executionId} is still ${tree.status}.`);
}

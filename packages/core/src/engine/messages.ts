// What one execution has to tell another. A message is stored in the transaction of the events it follows from and handed over afterwards,
// at least once; what it leads to at the other end happens once, because a command ends once and an execution starts once.
import type { Id } from '../ids/index.js';
import type { Json } from '../json/types.js';

export type Message =
  /** What to start is in the `command.issued` event of the sender. */
  | { readonly type: 'start_child'; readonly target: Id; readonly commandId: string }
  | { readonly type: 'cancel'; readonly target: Id; readonly reason: string }
  | {
      readonly type: 'child_ended';
      readonly target: Id;
      readonly commandId: string;
      readonly status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
      readonly data: Json;
      readonly error: string | null;
    };

export interface Posted {
  readonly id: Id;
  readonly message: Message;
}

// A client whose stream a test writes by hand.
import type { CancelResponse, ResultResponse, StatusResponse, StreamMessage } from '@noetl/client';

export interface FakeExecution {
  readonly push: (...messages: StreamMessage[]) => void;
  readonly cancels: (string | undefined)[];
  readonly client: {
    stream: (id: string, options?: { signal?: AbortSignal | undefined }) => AsyncIterable<StreamMessage>;
    cancel: (id: string, request?: { reason?: string }) => Promise<CancelResponse>;
    status: (id: string) => Promise<StatusResponse>;
    result: (id: string) => Promise<ResultResponse>;
  };
}

/** @param onCancel what the server does when it is asked to cancel */
export function fakeExecution(onCancel: (push: FakeExecution['push']) => void = () => {}): FakeExecution {
  const queue: StreamMessage[] = [];
  const cancels: (string | undefined)[] = [];
  let wake = () => {};
  const push = (...messages: StreamMessage[]) => {
    queue.push(...messages);
    wake();
  };
  async function* stream(_id: string, options: { signal?: AbortSignal | undefined } = {}) {
    options.signal?.addEventListener('abort', () => wake());
    while (options.signal?.aborted !== true) {
      const message = queue.shift();
      if (message !== undefined) yield message;
      else await new Promise<void>((settle) => (wake = settle));
    }
  }
  return {
    push,
    cancels,
    client: {
      stream,
      cancel: async (execution_id, request) => {
        cancels.push(request?.reason);
        onCancel(push);
        return { execution_id, status: 'cancelled', cancelled_executions: [execution_id], message: 'cancelled' };
      },
      status: () => Promise.reject(new Error('not asked in this test')),
      result: () => Promise.reject(new Error('not asked in this test')),
    },
  };
}

// What a worker reaches beyond its tools, for a test: nothing. Whoever tries is told so.
import type { ExecutionApi, ResultStore } from '@noetl/worker';

const refuse = (what: string) => () => Promise.reject(new Error(`a test ${what}`));

export const noResultStore: ResultStore = {
  put: refuse('keeps no result of more than 16 MiB'),
  find: () => Promise.resolve(undefined),
};

export const noExecutions: ExecutionApi = {
  execute: refuse('starts no executions'),
  status: refuse('looks at no executions'),
  childResult: refuse('looks at no executions'),
  cancel: refuse('cancels no executions'),
};

export { parseDurationMs } from './clock.js';
export { type CompiledPlaybook, type CompiledStep, compilePlaybook, TEXT_FIELDS } from './compile.js';
export {
  type Decision,
  decide,
  ENGINE_REV,
  type Fact,
  type ForkFact,
  type ProducedEvent,
  type Refusal,
} from './decide.js';
export { commandEventId, commandIdOf, commandStep, decode } from './decode.js';
export { encode } from './encode.js';
export type { CommandContext, DomainEvent, ErrorInfo, Park } from './events.js';
export { evolve } from './evolve.js';
export { isErrorStatus } from './evolve-step.js';
export { type Waiting, waitingFor } from './explain.js';
export { type ForkPoint, type ForkProblem, forkPrefix, rekey } from './fork.js';
export { buildGraph, type Graph, type GraphArc } from './graph.js';
export type { Message, Posted } from './messages.js';
export { MAX_DEPTH } from './park.js';
export { formatRef, parseRef, type ResultAddress, valueOfStored } from './reference.js';
export type { EventRow } from './row.js';
export {
  type CommandState,
  type ExecutionState,
  type ExecutionStatus,
  initialState,
  isTerminal,
  type StepState,
} from './state.js';
export { restoreState, STATE_FORMAT } from './state-json.js';
export type { World } from './turn.js';

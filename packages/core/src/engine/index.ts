export { type CompiledPlaybook, type CompiledStep, compilePlaybook, TEXT_FIELDS } from './compile.js';
export { type Decision, decide, ENGINE_REV, type Fact, type ProducedEvent, type Refusal } from './decide.js';
export { commandEventId, commandIdOf, commandStep, decode } from './decode.js';
export { encode } from './encode.js';
export type { CommandContext, DomainEvent, ErrorInfo } from './events.js';
export { evolve, isErrorStatus } from './evolve.js';
export { type Waiting, waitingFor } from './explain.js';
export { buildGraph, type Graph, type GraphArc } from './graph.js';
export type { EventRow } from './row.js';
export {
  type CommandState,
  type ExecutionState,
  type ExecutionStatus,
  initialState,
  isTerminal,
  type StepState,
} from './state.js';
export type { World } from './turn.js';

export { causeOf } from './cause.js';
export { evolveAndCompare } from './changes.js';
export {
  type AlignedVisit,
  alignVisits,
  type Comparison,
  compareStates,
  type VisitSummary,
  type WrittenChange,
} from './compare.js';
export { type Change, type Difference, difference } from './difference.js';
export { type GraphEdge, type GraphNode, type GraphView, graphAt, type NodeState } from './graph.js';
export type { ItemRange, LoopBar } from './loop-ranges.js';
export { type Moment, parseMoment, parseZonedTime } from './moment.js';
export {
  type BarState,
  type CommandBar,
  foldTimeline,
  type Part,
  startTimeline,
  type Timeline,
  type TimelinePage,
  type TimelineView,
  timelineOf,
  type VisitBar,
} from './timeline.js';
export {
  foldVariables,
  startVariables,
  type Variable,
  type VariableFold,
  variablesOf,
  type Writer,
} from './variables.js';
export { type StateView, viewOf } from './view.js';

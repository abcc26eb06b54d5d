export * from './engine/index.js';
export * from './ids/index.js';
export * from './json/index.js';
export * from './playbook/index.js';
export * from './redact/index.js';
export * from './replay/index.js';
export * from './subscription/index.js';
export {
  CLOCK_ROOT,
  type Condition as CompiledCondition,
  compileCondition,
  compileTemplate,
  compileValue,
  contentOf,
  isTemplate,
  lazyMap,
  ReferenceNeeded,
  type References,
  refOf,
  type Scope,
  scopeOf,
  synonym,
  type Template,
  TemplateError,
  tolerant,
  type ValueTemplate,
  withReferences,
} from './template/index.js';
export * from './travel/index.js';
export { type CheckedPlaybook, checkPlaybook } from './validate.js';

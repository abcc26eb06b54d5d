export * from './engine/index.js';
export * from './ids/index.js';
export * from './json/index.js';
export * from './playbook/index.js';
export * from './redact/index.js';
export {
  CLOCK_ROOT,
  type Condition as CompiledCondition,
  compileCondition,
  compileTemplate,
  compileValue,
  isTemplate,
  lazyMap,
  type Scope,
  scopeOf,
  synonym,
  type Template,
  TemplateError,
  tolerant,
  type ValueTemplate,
} from './template/index.js';
export { type CheckedPlaybook, checkPlaybook } from './validate.js';

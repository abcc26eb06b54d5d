export * from './engine/index.js';
export * from './ids/index.js';
export * from './json/index.js';
export * from './playbook/index.js';
export * from './redact/index.js';
export {
  type Condition as CompiledCondition,
  compileCondition,
  compileTemplate,
  compileValue,
  isTemplate,
  type Scope,
  scopeOf,
  type Template,
  TemplateError,
  type ValueTemplate,
} from './template/index.js';
export { type CheckedPlaybook, checkPlaybook } from './validate.js';

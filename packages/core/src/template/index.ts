// The template language of playbooks: Jinja syntax, typed values, lazy roots, no way out of the data.
export { type Condition, compileCondition } from './condition.js';
export { TemplateError } from './error.js';
export { CLOCK_ROOT, type TemplateFunctions } from './functions.js';
export { LIMITS } from './limits.js';
export { contentOf, ReferenceNeeded, type References, refOf, withReferences } from './reference.js';
export { type Scope, scopeOf } from './scope.js';
export { compileTemplate, isTemplate, type Template } from './template.js';
export { compileValue, type ValueOptions, type ValueTemplate } from './value-template.js';
export { lazyMap, synonym, tolerant } from './views.js';

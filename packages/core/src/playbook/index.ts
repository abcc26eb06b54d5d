// Playbooks: YAML text in, a normalised model and diagnostics with positions out.
export { type Diagnostic, formatDiagnostic, type Severity } from './diagnostics.js';
export { isToolKind, TOOL_KINDS, type ToolKind } from './kinds.js';
export type * from './model.js';
export { type ParseOptions, type ParseResult, parsePlaybook } from './parse.js';
export { type PlaybookPool, playbookPool } from './pool.js';
export { playbookSchema } from './schema.js';
export { MAX_PLAYBOOK_BYTES } from './source.js';
export type { CheckTemplate, TemplateKind, TemplateProblem } from './templates.js';
export type * from './test-model.js';
export { checkMockNames } from './test-names.js';
export { readYaml } from './yaml.js';

// YAML text -> playbook model. Reports every problem it finds, with positions, and never throws;
// a playbook is returned only when there is no error.
import { analyse } from './analyse.js';
import type { Diagnostic } from './diagnostics.js';
import { readDocument } from './document.js';
import { expectMap, expectText } from './fields.js';
import {
  checkRootKeys,
  readApiVersion,
  readExecutor,
  readKeychain,
  readMetadata,
  readPlaybookKind,
  readWorkload,
} from './header.js';
import type { Playbook, Step } from './model.js';
import { child, describe, type MapNode, type Node, type Place } from './node.js';
import { createReport, type Report } from './report.js';
import type { Scope } from './scope.js';
import { createSource, exceedsBytes, MAX_PLAYBOOK_BYTES } from './source.js';
import { readStep } from './step.js';
import type { CheckTemplate } from './templates.js';
import { readTests } from './tests.js';
import { warnUnknownVariables } from './variables.js';
import { readWorkbook } from './workbook.js';

export interface ParseOptions {
  /** Compiles a template and says what is wrong with it; templates are not checked without it. */
  readonly checkTemplate?: CheckTemplate;
  /** Reads the `tests` block too. Whoever does not run tests has nothing to say about it. */
  readonly tests?: boolean;
}

export interface ParseResult {
  /** Absent when any diagnostic is an error. */
  readonly playbook?: Playbook;
  /** In document order. */
  readonly diagnostics: Diagnostic[];
}

const START: Place = { path: '', at: { line: 1, column: 1 } };
const STEP_HINT = 'write `- step: name` with `tool: { kind: … }`';

export function parsePlaybook(text: string, options: ParseOptions = {}): ParseResult {
  const report = createReport();
  const playbook = readSafely(text, options, report);
  const diagnostics = report.diagnostics();
  return playbook === undefined || report.failed() ? { diagnostics } : { playbook, diagnostics };
}

/** The YAML library may throw on text that no grammar foresaw; the author still gets a diagnostic. */
function readSafely(text: string, options: ParseOptions, report: Report): Playbook | undefined {
  if (exceedsBytes(text, MAX_PLAYBOOK_BYTES)) {
    const message = `The playbook is larger than ${MAX_PLAYBOOK_BYTES / 1024 / 1024} MiB`;
    report.error('yaml.too-large', message, START, 'keep data out of the playbook: load it in a step');
    return undefined;
  }
  const source = createSource(text);
  try {
    const root = readDocument(source, report);
    if (root === undefined) return undefined;
    return readRoot({ source, report, checkTemplate: options.checkTemplate, mentions: [], subject: '' }, root, options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    report.error('yaml.syntax', `The document cannot be read: ${reason}`, START, 'check it with a YAML linter');
    return undefined;
  }
}

function readRoot(scope: Scope, root: Node, options: ParseOptions): Playbook | undefined {
  if (root.type !== 'map') {
    const message = `A playbook is a map of keys, found ${describe(root)}`;
    scope.report.error('playbook.root', message, root, 'start with `apiVersion: noetl.io/v2`');
    return undefined;
  }
  checkRootKeys(scope, root);
  const apiVersion = readApiVersion(scope, root);
  const kind = readPlaybookKind(scope, root);
  const metadata = readMetadata(scope, root);
  const workload = readWorkload(scope, root);
  const keychain = readKeychain(scope, root);
  const items = readItems(scope, root);
  const names = new Set(items.map((item) => item.name));
  const executor = readExecutor(scope, root, names);
  const workbook = readWorkbook(scope, root);
  const steps = items.flatMap(({ name, map }): Step[] => {
    const step = readStep(scope, map, name, { names, workbook });
    return step === undefined ? [] : [step];
  });
  // On a broken graph the lints would repeat the errors in other words.
  if (!scope.report.failed()) {
    analyse({ steps, executor }, scope.report);
    warnUnknownVariables({ workload, steps }, scope.mentions, scope.source, scope.report);
  }
  const tests = options.tests === true ? { tests: readTests(scope, root, steps) } : {};
  return { apiVersion, kind, metadata, workload, keychain, executor, steps, ...tests };
}

interface StepItem {
  readonly name: string;
  readonly map: MapNode;
}

/** The named entries of `workflow`, in document order. */
function readItems(scope: Scope, root: MapNode): StepItem[] {
  const workflow = child(root, 'workflow');
  if (workflow === undefined || (workflow.type === 'list' && workflow.items.length === 0)) {
    const place = root.entries.get('workflow') ?? root;
    scope.report.error('playbook.workflow', 'Workflow must have at least one step', place, STEP_HINT);
    return [];
  }
  if (workflow.type !== 'list') {
    const message = `workflow must be a list of steps, found ${describe(workflow)}`;
    scope.report.error('playbook.workflow', message, workflow, STEP_HINT);
    return [];
  }
  const seen = new Map<string, number>();
  return workflow.items.flatMap((item): StepItem[] => {
    const map = expectMap(scope, item, STEP_HINT);
    if (map === undefined) return [];
    const node = child(map, 'step');
    const name = expectText(scope, node);
    if (node === undefined || name === undefined || name.trim() === '') {
      const message = `${item.path}: missing field \`step\``;
      scope.report.error('step.no-name', message, node ?? map, STEP_HINT);
      return [];
    }
    const earlier = seen.get(name);
    if (earlier !== undefined) {
      const hint = `the first one is on line ${earlier}; rename one of them`;
      scope.report.error('step.duplicate', `Duplicate step name: ${name}`, node, hint);
    }
    seen.set(name, earlier ?? node.at.line);
    return [{ name, map }];
  });
}

// Any YAML document as JSON, under the same limits as a playbook: for reading what kind of thing was sent before it is validated.
import type { Json } from '../json/types.js';
import type { Diagnostic } from './diagnostics.js';
import { readDocument } from './document.js';
import { toJson } from './node.js';
import { createReport } from './report.js';
import { createSource, exceedsBytes, MAX_PLAYBOOK_BYTES } from './source.js';

export function readYaml(text: string): { readonly value?: Json; readonly diagnostics: readonly Diagnostic[] } {
  const report = createReport();
  if (exceedsBytes(text, MAX_PLAYBOOK_BYTES)) {
    const message = `The document is larger than ${MAX_PLAYBOOK_BYTES / 1024 / 1024} MiB`;
    report.error('yaml.too-large', message, { path: '', at: { line: 1, column: 1 } }, 'send it in parts');
    return { diagnostics: report.diagnostics() };
  }
  const root = readDocument(createSource(text), report);
  const diagnostics = report.diagnostics();
  return root === undefined || report.failed() ? { diagnostics } : { value: toJson(root), diagnostics };
}

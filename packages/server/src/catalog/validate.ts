// Asks what is wrong with a playbook without storing it, and hands out the schema that editors complete with.
import {
  buildGraph,
  checkDocument,
  type Diagnostic,
  formatDiagnostic,
  type Playbook,
  parsePlaybook,
  playbookSchema,
} from '@noetl/core';
import { Type } from 'typebox';
import type { App } from '../http/index.js';
import { decodeContent } from './content.js';

export interface Validation {
  readonly valid: boolean;
  /** The errors among the diagnostics, as text. */
  readonly errors: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** Null when the text has no graph that makes sense. */
  readonly graph: GraphView | null;
}

export interface GraphView {
  readonly nodes: readonly { readonly id: string; readonly kind: string; readonly line: number }[];
  readonly arcs: readonly {
    readonly from: string;
    readonly to: string;
    readonly when?: string | boolean;
    readonly back: boolean;
  }[];
}

export function validateContent(content: string): Validation {
  const text = decodeContent(content);
  const { playbook, subscription, diagnostics } = checkDocument(text);
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === 'error');
  // A template that is being typed, or a part that this engine does not run, is no reason to lose the picture.
  const drawn = playbook ?? parsePlaybook(text).playbook;
  return {
    valid: playbook !== undefined || subscription !== undefined,
    errors: errors.map((error) => formatDiagnostic(error, 'playbook')),
    diagnostics,
    graph: drawn === undefined ? null : graphView(drawn),
  };
}

const END = 'end';

/** Every arc joins two nodes: an `end` that no step defines becomes a node where it is first named. */
function graphView(playbook: Playbook): GraphView {
  const graph = buildGraph(playbook);
  const nodes = playbook.steps.map(({ name, tool, at }) => ({
    id: name,
    kind: tool.type === 'single' ? tool.task.kind : 'task_sequence',
    line: at.line,
  }));
  const arcs = playbook.steps.flatMap((step, from) =>
    (graph.arcs[from] ?? []).map(({ index, to, back }) => {
      const written = step.next.arcs[index];
      if (to < 0 && nodes.at(-1)?.kind !== END) {
        nodes.push({ id: END, kind: END, line: (written ?? step).at.line });
      }
      const { when } = written ?? {};
      return { from: step.name, to: graph.names[to] ?? END, ...(when === undefined ? {} : { when }), back };
    }),
  );
  return { nodes, arcs };
}

export function validateRoutes(app: App): void {
  const schema = playbookSchema();

  app.post(
    '/api/catalog/validate',
    {
      bodyLimit: 16 * 1024 * 1024,
      schema: {
        tags: ['catalog'],
        summary: 'Every problem of a playbook, and its graph; nothing is stored',
        body: Type.Object({ content: Type.String() }),
      },
    },
    async (request) => validateContent(request.body.content),
  );

  app.get(
    '/api/schema/playbook.json',
    { schema: { tags: ['catalog'], summary: 'JSON Schema of playbooks, for editors' } },
    async (_request, reply) => reply.header('cache-control', 'private, max-age=300').send(schema),
  );
}

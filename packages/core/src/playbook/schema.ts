// The JSON Schema (draft 2020-12) of playbooks: what editors complete and explain with. It describes every form that the parser
// reads and refuses none of them; names, templates and the graph are checked by the parser alone.
import type { JsonObject } from '../json/types.js';
import {
  about,
  choice,
  flag,
  list,
  map,
  offer,
  present,
  ref,
  requiredText,
  type Schema,
  text,
} from './schema-forms.js';
import { stepSchemas } from './schema-step.js';
import { testsSchema } from './schema-tests.js';
import { ruleSchemas, taskSchema, toolSchema } from './schema-tool.js';

export function playbookSchema(): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://noetl.io/schema/playbook.json',
    title: 'NoETL playbook',
    description: 'A graph of named steps, run by NoETL.',
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata', 'workflow'],
    properties: {
      apiVersion: {
        enum: ['noetl.io/v2', 'noetl.io/v10'],
        description: 'Version of the language. Both are read the same way.',
        default: 'noetl.io/v2',
      },
      kind: choice('What this document is.', ['Playbook', 'Agent'], { default: 'Playbook' }),
      metadata: metadata(),
      workload: map('Default inputs. The payload of a start replaces them key by key. A default may be a template.'),
      vars: map('Older place of defaults; `workload` wins.', {}, { deprecated: true }),
      keychain: keychain(),
      executor: executor(),
      workbook: workbook(),
      workflow: { type: 'array', minItems: 1, items: ref('step'), description: 'The steps.' },
      tests: testsSchema(),
    },
    $defs: { tool: toolSchema(), task: taskSchema(), ...ruleSchemas(), ...stepSchemas() },
  };
}

function metadata(): Schema {
  return {
    type: 'object',
    description: 'Who this playbook is. Other keys are kept as they are.',
    properties: {
      path: text('Name in the catalog, such as `team/report`. `system/` and `subscription/` choose the worker pool.'),
      name: text('A short name; stands in for `path`.'),
      description: text('What it is for.'),
      labels: map(
        'Labels for filters.',
        {},
        { additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } },
      ),
      version: about('A version for people; the catalog counts its own.'),
      tags: about('A list of tags, or one.'),
      exposed_in_ui: about('Offer it in the console.'),
      exposes_as_mcp: about('Offer it to agents as a tool.'),
      agent: about('It is an agent.'),
      capabilities: about('What an agent can do.'),
    },
    anyOf: [present('path'), present('name')],
  };
}

function keychain(): Schema {
  return list('Secrets that templates read as `keychain.<name>.<field>`.', {
    type: 'object',
    required: ['name'],
    properties: {
      name: requiredText('The name templates use.'),
      kind: about('What it is: `credential`, `secrets`, `oauth2`, `bearer`, …'),
      credential: about('Name of a stored credential.'),
      provider: about('Secret manager: `gcp`, `aws`, `azure`, `vault`, `k8s`.'),
      auth: about('Credential for the secret manager.'),
      map: about('Field to secret reference.'),
      scope: about('Who shares it: `global`, `catalog` or `execution`.'),
      auto_renew: about('Renew it before it expires.'),
    },
  });
}

function executor(): Schema {
  return map('How the workflow as a whole runs.', {
    profile: offer('Where it is meant to run; a hint.', ['auto', 'local', 'distributed'], { default: 'auto' }),
    version: about('Runtime it was written for; a hint.'),
    requires: about('Tools and features it needs; a hint.'),
    spec: map('Entry, end and failure.', {
      entry_step: text('Where it starts; else the step `start`, else the first one.'),
      final_step: text('Runs once, last, when all else has ended without a failure.'),
      no_next_is_error: flag('A step that succeeds and matches none of its arcs fails.', false),
      policy: about('Defaults and limits; a hint.'),
    }),
  });
}

/** A task is `{name, tool}`, or the tool itself. */
function workbook(): Schema {
  const task: Schema = {
    type: 'object',
    anyOf: [{ ...present('tool'), properties: { tool: ref('tool') } }, ref('tool')],
    description: 'A named tool.',
  };
  return {
    description: 'Named tools; a step uses one with `tool: {kind: workbook, name: …}`.',
    anyOf: [
      { type: 'array', items: { ...task, required: ['name'], properties: { name: requiredText('The name.') } } },
      { type: 'object', required: ['tasks'], properties: { tasks: { type: ['object', 'array'] } } },
      { type: 'object', additionalProperties: task },
      { type: 'null' },
    ],
  };
}

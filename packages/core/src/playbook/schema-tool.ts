// JSON Schema of tools: the fields every tool has, what each kind reads, and the policy after an attempt.
import { TOOL_KINDS } from './kinds.js';
import {
  about,
  count,
  example,
  flag,
  implies,
  list,
  map,
  offer,
  present,
  ref,
  type Schema,
  seconds,
  suggestion,
  text,
  thenKey,
} from './schema-forms.js';

const CODE = about('Code of the step. Inputs are variables; the step’s data is what it leaves in `result` or returns.');
const ENVIRONMENT = about('Environment variables for the process.');
const DIRECTORY = about('Working directory.');
const LIMIT = about('The longest time the tool may take, in seconds.');
const CREDENTIAL = about('Name of a stored credential, or the credential written out.');
const QUERY = about('SQL to run; several statements are separated by `;`.');

/** What a kind reads beside the fields that all tools have. Only suggestions: the tool itself checks its configuration. */
const FIELDS: Readonly<Record<string, Record<string, Schema>>> = {
  http: {
    url: about('Absolute address to call; a template may build it. Older name: `endpoint`.'),
    endpoint: about('The older name of `url`.'),
    method: offer('HTTP method.', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'], {
      default: 'GET',
    }),
    headers: about('Request headers.'),
    params: about('Query parameters, added to those of the address.'),
    json: about('Body, sent as JSON.'),
    form: about('Body, sent as form fields.'),
    body: about('Body: text as it is, anything else as JSON.'),
    data: about('`{query, body}`, or the body, or for GET the query.'),
    auth: about('`{type: bearer | basic | api_key | header, …}`, or the name of a stored credential.'),
    response_type: offer('How the answer is read.', ['auto', 'json', 'text', 'binary'], { default: 'auto' }),
    follow_redirects: about('Follow redirects (up to 5).', { default: true }),
    verify_ssl: about('Refuse a certificate that is not valid.', { default: true }),
    timeout_seconds: LIMIT,
  },
  python: {
    code: CODE,
    code_b64: about('The code in base64.'),
    script: about('Where the code comes from, instead of `code`.'),
    libs: about('Names for imported modules, `{pd: pandas}`.'),
    env: ENVIRONMENT,
    cwd: DIRECTORY,
    python: about('Interpreter; `python3` by default.'),
    timeout_seconds: LIMIT,
  },
  shell: {
    command: about('A command line, or a list of them; the first that fails ends the step. Also `cmd`, `cmds`.'),
    cmd: about('Another name of `command`.'),
    cmds: about('Another name of `command`.'),
    shell: about('The shell; `sh` by default.'),
    env: ENVIRONMENT,
    cwd: DIRECTORY,
    timeout_seconds: LIMIT,
  },
  noop: { result: about('The data of the step.'), message: about('A message in the data of the step.') },
  postgres: {
    auth: CREDENTIAL,
    command: QUERY,
    query: QUERY,
    commands: about('A list of statements.'),
    params: about('Values of the parameters in the statement.'),
    connection: about('Connection string, when there is no credential.'),
  },
  duckdb: { auth: CREDENTIAL, command: QUERY, commands: QUERY, query: QUERY, database: about('Database file.') },
  snowflake: { auth: CREDENTIAL, command: QUERY, query: QUERY },
  playbook: {
    path: about('Catalog path of the playbook to start.'),
    catalog_id: about('Its catalog id, instead of `path`. Write it as text: it has more digits than a number keeps.'),
    version: about('Catalog version; the newest by default.'),
    payload: about('Inputs of the playbook.'),
    return_step: about('Wait for the child and return the data of this step.'),
    return_result: about('Wait for the child and return its data.'),
    result_step: about('The step whose data `return_result` returns.'),
    timeout: about('How long to wait for the child, in seconds.'),
  },
  wait: {
    for: about('How long to wait: seconds, or `90s`, `15m`, `2h`, `1d`.'),
    until: about('The time to wait for, `2030-01-31T08:00:00Z`; UTC unless it names a zone.'),
    signal: about('Name of the signal to wait for (`noetl signal EXECUTION NAME`).'),
    timeout: about('How long the signal may take.'),
    on_timeout: offer('What a signal that does not come means.', ['fail', 'continue'], { default: 'fail' }),
  },
  workbook: {
    name: about('The `workbook` entry to use.'),
    task: about('The `workbook` entry to use, where `name` is the label of a pipeline task.'),
  },
  container: {
    image: about('Image to run.'),
    command: about('Command line, as a list.'),
    args: about('Arguments of the command, as a list.'),
    env: ENVIRONMENT,
  },
  script: { uri: about('Where the script is.'), args: about('Arguments of the script.') },
  artifact: { action: offer('What to do.', ['get', 'put']) },
  nats: { operation: about('What to do, for example `kv_put`.'), auth: CREDENTIAL },
  transfer: { source: about('Where rows come from.'), target: about('Where rows go.') },
};

/** One tool: a map with `kind`. */
export function toolSchema(): Schema {
  return {
    type: 'object',
    description: 'One tool: its `kind`, its own fields, and what the engine does around it.',
    required: ['kind'],
    properties: {
      kind: { enum: [...TOOL_KINDS], description: 'What runs this step. `noop` only routes.' },
      name: about('Label of the task in a pipeline; for `kind: workbook` the entry to use.'),
      input: map('Inputs of this tool; they win over the `input` of the step. Strings may be templates.'),
      args: about('Older name of `input`. A list is a command line.'),
      ...setProperties(),
      output: ref('output'),
      eval: list('Older form of `spec.policy.rules`.', ref('rule')),
      spec: map('How the engine treats this tool.', {
        policy: {
          description: 'What happens after each attempt.',
          anyOf: [
            ref('rules'),
            map('Rules under `rules`.', { rules: ref('rules') }, { required: ['rules'] }),
            { type: 'null' },
          ],
        },
        timeout: {
          description: 'The longest time the tool may take, or `{connect, read}` where the tool knows phases.',
          anyOf: [seconds('The longest time.'), { type: 'object' }],
        },
        result: map('Older form of `output`.'),
      }),
    },
    allOf: Object.entries(FIELDS).map(([kind, properties]) =>
      implies({ properties: { kind: { const: kind } }, required: ['kind'] }, { properties }),
    ),
  };
}

/** A pipeline item: flat with `kind`, or `{label: tool}`. */
export function taskSchema(): Schema {
  return {
    type: 'object',
    description: 'A task: `{name, kind, …}`, or the older `{label: {kind, …}}`.',
    ...implies({ required: ['kind'] }, ref('tool')),
    else: { minProperties: 1, maxProperties: 1, additionalProperties: ref('tool') },
    ...example({ name: 'fetch', kind: 'http', url: 'https://example.com' }),
  };
}

export function setProperties(): Record<string, Schema> {
  return {
    set: ref('set'),
    set_ctx: map('Older form of `set` with `ctx.` names.'),
    set_iter: map('Older form of `set` with `iter.` names.'),
    set_vars: map('Older form of `set` with `ctx.` names.'),
  };
}

export function ruleSchemas(): Record<string, Schema> {
  const action = {
    do: {
      enum: ['continue', 'retry', 'break', 'jump', 'fail'],
      description:
        '`continue` with the next task, `retry` this one, `break` with success, `jump` to a task, or `fail`.',
    },
    attempts: count('For `retry`: how often the task runs in total.', { default: 3 }),
    backoff: suggestion('For `retry`: how the delay grows.', ['none', 'linear', 'exponential', 'constant']),
    delay: seconds('For `retry`: the first delay.', { default: 1 }),
    to: text('For `jump`: label of the task, or `previous`.'),
    target: text('Older name of `to`.'),
    ...setProperties(),
  };
  const jump = implies(
    { properties: { do: { const: 'jump' } }, required: ['do'] },
    { anyOf: [present('to'), present('target')] },
  );
  return {
    action: { type: 'object', description: 'What to do.', required: ['do'], properties: action, ...jump },
    rules: {
      type: 'array',
      description: 'Looked at from top to bottom after each attempt; the first that matches decides.',
      items: ref('rule'),
    },
    rule: {
      type: 'object',
      description: '`when` with `then`, or `else`.',
      properties: {
        when: ref('condition'),
        expr: about('Older name of `when`.'),
        ...thenKey({ anyOf: [ref('action'), { type: 'null' }], description: 'What to do when it matches.' }),
        else: {
          description: 'Matches always: `{then: {do: …}}`, or `{do: …}`.',
          anyOf: [
            { type: 'null' },
            { type: 'object', maxProperties: 0 },
            { type: 'object', ...present('then'), properties: thenKey(ref('action')) },
            ref('action'),
          ],
        },
      },
      anyOf: [present('then'), present('else'), ref('action')],
      ...example({
        when: "{{ output.status == 'error' }}",
        ...thenKey({ do: 'retry', attempts: 3, backoff: 'exponential' }),
      }),
    },
    output: map('How the result is kept.', {
      output_select: about('Fields that stay readable when the result is stored elsewhere.'),
      inline_max_bytes: about('Results above this size are stored elsewhere.'),
      store: about('Where large results go: `{kind: auto | …, ttl, compression}`.'),
      scope: offer('How long the result lives.', ['step', 'execution', 'workflow', 'permanent']),
    }),
    admitRule: {
      type: 'object',
      description: '`when` with `then: {allow: …}`, or `else: {then: {allow: …}}`. The first that matches decides.',
      properties: {
        when: ref('condition'),
        allow: flag('Let the step run.', true),
        ...thenKey(map('What to do when it matches.', { allow: flag('Let the step run.', true) })),
        else: map('Matches always.', {
          allow: flag('Let the step run.', true),
          ...thenKey(map('What to do.', { allow: flag('Let the step run.', true) })),
        }),
      },
      anyOf: [present('when'), { required: ['else'] }],
    },
    // Kept beside the rules because both are guards.
    condition: {
      type: ['string', 'boolean', 'null'],
      pattern: '\\S',
      description: 'An expression over the data so far, with or without `{{ }}`, or a boolean.',
      ...example('{{ output.data.total > 0 }}', 'workload.enabled'),
    },
  };
}

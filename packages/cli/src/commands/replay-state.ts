// `noetl replay ID`: how an execution stood at any moment, worked out from its log. `noetl replay diff`: two of these side by side.
import type { DiffResponse, GraphResponse, NoetlClient, VariablesResponse } from '@noetl/client';
import {
  isRequestedProjection,
  type Json,
  type Moment,
  parseMoment,
  REQUESTED_PROJECTIONS,
  stringifyJson,
} from '@noetl/core';
import { type ConnectionOptions, connect } from '../connection.js';
import { formatDuration } from '../duration.js';
import { EXIT, type ExitCode, usageError } from '../errors.js';
import { checkId } from '../execution-id.js';
import { printJson } from '../print-json.js';
import { type Paint, type Palette, paletteFor, sanitise, say, table, truncate } from '../terminal.js';

export interface ReplayOptions extends ConnectionOptions {
  readonly at?: string;
  readonly projection?: string;
  readonly json?: boolean;
}

const WIDTH = 100;

export async function replay(id: string, options: ReplayOptions): Promise<ExitCode> {
  const client = connect(options);
  checkId(id);
  const moment = momentOf(options.at);
  if (options.json === true) return printState(client, id, moment, options.projection ?? 'all');
  if (options.projection !== undefined)
    throw usageError('--projection names a part of the JSON.', 'Add --json to see it.');
  const at = options.at === undefined ? {} : { at: options.at };
  const [graph, { variables, next }] = await Promise.all([client.graph(id, at), client.variables(id, at)]);
  const paint = paletteFor(process.stdout);
  process.stdout.write(heading(graph, paint));
  process.stdout.write(`\n${stepsTable(graph, paint)}`);
  if (variables.length > 0) process.stdout.write(`\n${variablesTable(variables, paint)}`);
  if (next !== null) say('There are more variables; GET /api/executions/ID/variables has them all.');
  return EXIT.ok;
}

/** The body byte for byte: its checksums are about this text. */
async function printState(client: NoetlClient, id: string, moment: Moment, projection: string): Promise<ExitCode> {
  if (!isRequestedProjection(projection))
    throw usageError(`"${projection}" is not a projection.`, `One of: ${REQUESTED_PROJECTIONS.join(', ')}.`);
  const cutoff = await cutoffOf(client, id, moment);
  const { body } = await client.replayState({ execution_id: id, projection, limit: 'all', ...cutoff });
  process.stdout.write(`${body}\n`);
  return EXIT.ok;
}

async function cutoffOf(client: NoetlClient, id: string, moment: Moment) {
  switch (moment.type) {
    case 'end':
      return {};
    case 'event':
      return { as_of_event_id: moment.eventId };
    case 'time':
      return { as_of_time: moment.time };
    case 'version': {
      const { at } = await client.changes(id, { at: `#${moment.version}`, limit: 1 });
      return { as_of_event_id: at.event_id };
    }
  }
}

function heading({ execution_id, path, status, at }: GraphResponse, paint: Palette): string {
  const rows: [string, string][] = [
    ['Execution', execution_id],
    ['Playbook', sanitise(path)],
    ['Status', statePaint(status, paint)(status)],
    ['As of', `event ${at.event_id} (#${at.stream_version}), ${at.time}`],
  ];
  return rows.map(([name, value]) => `${paint.dim(name.padEnd(9))}  ${value}\n`).join('');
}

function stepsTable({ nodes, arcs }: GraphResponse, paint: Palette): string {
  const rows = nodes.map(({ id, kind, state, visit, attempts, started, ended, error, loop }) => {
    const goes = arcs.filter((arc) => arc.from === id && arc.state === 'taken').map((arc) => arc.to);
    const took = started === null || ended === null ? '' : formatDuration(Date.parse(ended) - Date.parse(started));
    const items = loop === null ? '' : `${String(loop.succeeded)}/${String(loop.total ?? '?')} items`;
    const note = error === null ? items || goes.map((to) => `→ ${to}`).join(' ') : paint.red(firstLine(error));
    return [
      sanitise(id),
      kind,
      statePaint(state, paint)(state),
      visit === 0 ? '' : String(visit),
      attempts === 0 ? '' : String(attempts),
      took,
      truncate(sanitise(note), 60),
    ];
  });
  return table(['STEP', 'KIND', 'STATE', 'VISIT', 'ATTEMPT', 'TOOK', ''], rows, paint);
}

function variablesTable(variables: VariablesResponse['variables'], paint: Palette): string {
  const rows = variables.map(({ name, value, size, written_by }) => [
    sanitise(name),
    truncate(size === undefined ? shown(value) : `(${size} bytes)`, 60),
    written_by === null ? '' : paint.dim(`${sanitise(written_by.step ?? 'start')} #${written_by.stream_version}`),
  ]);
  return table(['VARIABLE', 'VALUE', 'WRITTEN BY'], rows, paint);
}

export interface DiffOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** `ID A B`: two moments of one execution. `ID1 ID2`: two executions. */
export async function diff(
  id: string,
  first: string,
  second: string | undefined,
  options: DiffOptions,
): Promise<ExitCode> {
  const client = connect(options);
  checkId(id);
  momentOf(first);
  if (second !== undefined) momentOf(second);
  const query = second === undefined ? { with: checkId(first) } : { from: first, to: second };
  const answer = await client.diff({ execution_id: id, ...query });
  if (options.json === true) printJson(answer);
  else process.stdout.write(diffText(answer, paletteFor(process.stdout)));
  return EXIT.ok;
}

function diffText(answer: DiffResponse, paint: Palette): string {
  const { left, right, changes, visits } = answer;
  const side = (mark: string, { execution_id, at, status }: DiffResponse['left']) =>
    `${mark} ${execution_id}  ${statePaint(status, paint)(status)}  ${paint.dim(`#${at.stream_version}  ${at.time}`)}\n`;
  const lines = [side(paint.red('-'), left), side(paint.green('+'), right)];
  if (answer.events_between !== undefined) lines.push(paint.dim(`  ${answer.events_between} events between them\n`));
  if (answer.forked === 'right_from_left')
    lines.push(paint.dim(`  + began as a copy of the first ${answer.copied_events ?? 0} events of -\n`));
  if (answer.forked === 'left_from_right')
    lines.push(paint.dim(`  - began as a copy of the first ${answer.copied_events ?? 0} events of +\n`));
  if (visits !== undefined) lines.push(`\n${visitsTable(visits, paint)}`);
  lines.push('\n', ...changes.map((change) => changeText(change, paint)));
  if (changes.length === 0) lines.push('No difference.\n');
  if (answer.truncated) lines.push(paint.dim('… and more; --json shows as much as there is.\n'));
  return lines.join('');
}

function visitsTable(visits: NonNullable<DiffResponse['visits']>, paint: Palette): string {
  const cell = (one: (typeof visits)[number]['left']) => {
    if (one === null) return paint.dim('not visited');
    const took = one.duration_ms === null ? '' : ` ${paint.dim(formatDuration(one.duration_ms))}`;
    return `${statePaint(one.state, paint)(one.state)}${took}`;
  };
  const rows = visits.map(({ step, visit, left, right, same }) => [
    same ? ' ' : paint.yellow('≠'),
    `${sanitise(step)}${visit > 1 ? ` (${visit})` : ''}`,
    cell(left),
    cell(right),
  ]);
  return table([' ', 'STEP', '-', '+'], rows, paint);
}

function changeText(change: DiffResponse['changes'][number], paint: Palette): string {
  const { path, before, after, before_by, after_by } = change;
  const by = (writer: typeof before_by) =>
    writer === null ? '' : paint.dim(`  ${sanitise(writer.step ?? 'start')} #${writer.stream_version}`);
  const value = (side: 'before' | 'after', json: Json | undefined) => {
    const size = side === 'before' ? change.before_size : change.after_size;
    return size === undefined ? truncate(shown(json ?? null), WIDTH) : `(${size} bytes)`;
  };
  return [
    `${paint.bold(sanitise(path.join('.')))}\n`,
    ...(change.kind === 'added' ? [] : [`  ${paint.red('-')} ${value('before', before)}${by(before_by)}\n`]),
    ...(change.kind === 'removed' ? [] : [`  ${paint.green('+')} ${value('after', after)}${by(after_by)}\n`]),
  ].join('');
}

function momentOf(text: string | undefined): Moment {
  const moment = text === undefined ? { type: 'end' as const } : parseMoment(text);
  if (moment !== undefined) return moment;
  throw usageError(
    `"${text ?? ''}" is not a moment of an execution.`,
    'Write an event id, #12 for the twelfth event, or a time with its zone like 2026-11-16T04:00:00Z.',
  );
}

function shown(value: Json): string {
  return sanitise(stringifyJson(value));
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function statePaint(state: string, paint: Palette): Paint {
  switch (state.toLowerCase()) {
    case 'done':
    case 'completed':
      return paint.green;
    case 'failed':
      return paint.red;
    case 'cancelled':
    case 'waiting':
    case 'parked':
      return paint.yellow;
    case 'running':
    case 'queued':
      return paint.cyan;
    default:
      return paint.dim;
  }
}

// Runs commands with `<shell> -c`, one after the other, and stops at the first that fails. The result carries the
// field names of both dialects that playbooks are written for (`exit_code` and `returncode`, `text` and `stdout`).
import { constants } from 'node:os';
import type { Json, JsonObject } from '@noetl/core';
import { clipMiddle } from './capture.js';
import { environmentOf, firstOf, optionalText } from './config.js';
import { configurationError, type ErrorInfo, processTimeout } from './errors.js';
import { OUTPUT_LIMIT_BYTES, type ProcessOutcome, runProcess } from './process.js';
import { type Tool, type ToolCall, type ToolResult, timedOut } from './tool.js';

const DEFAULT_TIMEOUT_MS = 600_000;
const PREVIEW_CHARS = 120;
/** Of each command in the list; the whole output is in `stdout` and `stderr`. */
const LISTED_CHARS = 4_096;

export const shellTool: Tool = { kind: 'shell', run: runShell };

async function runShell(call: ToolCall): Promise<ToolResult> {
  const { config, signal } = call;
  const commands = commandsOf(config);
  const shell = optionalText('shell', config, 'shell') ?? 'sh';
  const cwd = optionalText('shell', config, 'cwd');
  const env = environmentOf('shell', config);
  const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const startedAt = performance.now();
  const done: { text: string; outcome: ProcessOutcome }[] = [];

  for (const text of commands) {
    // The time-out is for the whole step: the commands share it.
    const left = timeoutMs - (performance.now() - startedAt);
    const outcome = await runProcess({
      file: shell,
      args: ['-c', text],
      ...(cwd === undefined ? {} : { cwd }),
      env,
      timeoutMs: Math.max(1, left),
      signal,
      source: 'shell',
    });
    done.push({ text, outcome });
    if (outcome.ending !== 'exit' || outcome.exitCode !== 0) break;
  }
  return resultOf(done, timeoutMs, Math.round(performance.now() - startedAt));
}

function commandsOf(config: JsonObject): string[] {
  const value = firstOf(config, 'command', 'cmd', 'cmds');
  const list: Json[] = Array.isArray(value) ? value : value === undefined ? [] : [value];
  const commands = list.filter((item): item is string => typeof item === 'string' && item.trim() !== '');
  if (list.length === 0) throw configurationError('shell', 'one of command, cmd or cmds is required');
  if (commands.length !== list.length) throw configurationError('shell', 'every command must be non-empty text');
  return commands;
}

function resultOf(
  done: readonly { text: string; outcome: ProcessOutcome }[],
  timeoutMs: number,
  durationMs: number,
): ToolResult {
  const last = done.at(-1)?.outcome;
  const printed = done.map(({ outcome }) => outcome.stdout);
  const complained = done.map(({ outcome }) => outcome.stderr);
  const stdout = together(printed);
  const stderr = together(complained);
  const exitCode = last === undefined ? 0 : exitCodeOf(last);
  const truncated =
    stdout !== printed.join('') || stderr !== complained.join('') || done.some(({ outcome }) => outcome.truncated);
  const data: JsonObject = {
    exit_code: exitCode,
    returncode: exitCode,
    stdout,
    stderr,
    text: stdout,
    commands: done.map(({ text, outcome }) => ({
      cmd_preview: clip(text, PREVIEW_CHARS),
      returncode: exitCodeOf(outcome),
      stdout: clip(outcome.stdout, LISTED_CHARS),
      stderr: clip(outcome.stderr, LISTED_CHARS),
      duration_ms: outcome.durationMs,
    })),
    duration_ms: durationMs,
    ...(truncated ? { truncated } : {}),
  };
  const common = {
    data,
    stdout,
    stderr,
    exit_code: exitCode,
    duration_ms: durationMs,
    ...(truncated ? { truncated } : {}),
  };
  if (last?.ending === 'timeout') {
    return { ...common, ...timedOut(timeoutMs, processTimeout(timeoutMs, 'shell', 'SHELL_TIMEOUT')) };
  }
  if (exitCode === 0) return { status: 'success', ...common };
  const killed = last?.killedBy ?? null;
  const error = killed === null ? `Command exited with code ${exitCode}` : `Command was killed by ${killed}`;
  return { status: 'error', error, error_info: exitError(error, exitCode, stderr), ...common };
}

/** Each output is within the limit already; those of several commands must be so together. */
function together(outputs: readonly string[]): string {
  return outputs.length === 1 ? (outputs[0] ?? '') : clipMiddle(outputs.join(''), OUTPUT_LIMIT_BYTES);
}

function exitError(message: string, exitCode: number, stderr: string): ErrorInfo {
  return {
    kind: 'process',
    retryable: false,
    code: `EXIT_${exitCode}`,
    message,
    source: 'shell',
    details: { exit_code: exitCode, stderr: stderr.slice(-LISTED_CHARS) },
  };
}

/** A process that a signal ended has no exit code: 128 plus the signal's number is what a shell would say. */
function exitCodeOf(outcome: ProcessOutcome): number {
  if (outcome.exitCode !== null) return outcome.exitCode;
  return 128 + (outcome.killedBy === null ? 0 : constants.signals[outcome.killedBy]);
}

function clip(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

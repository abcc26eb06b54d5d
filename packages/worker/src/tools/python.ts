// Runs the code of a step in a python3 process of its own (assets/runner.py). Code and inputs travel as data on
// stdin and the outcome on fd 3, so neither an input nor a print can forge a result.
import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '@noetl/core';
import { environmentOf, firstOf, optionalText } from './config.js';
import { configurationError, type ErrorInfo, processTimeout, pythonError } from './errors.js';
import { type ProcessOutcome, runProcess } from './process.js';
import { type Tool, type ToolCall, type ToolResult, timedOut } from './tool.js';

export interface PythonOptions {
  /** Interpreter when a step names none. */
  readonly python?: string;
  /** The only directory that `script: {source: {type: file}}` may read. Without it such a step is refused. */
  readonly scriptRoot?: string;
}

const RUNNER = fileURLToPath(new URL('../../assets/runner.py', import.meta.url));
const DEFAULT_TIMEOUT_MS = 600_000;
const RESULT_LIMIT_BYTES = 64 * 1024 * 1024;

export function createPythonTool(options: PythonOptions = {}): Tool {
  const interpreters = new Map<string, Promise<string>>();
  const interpreterOf = (name: string): Promise<string> => {
    const known = interpreters.get(name) ?? resolveInterpreter(name);
    interpreters.set(name, known);
    return known;
  };
  return {
    kind: 'python',
    async run(call) {
      const code = await codeOf(call.config, options.scriptRoot);
      const python = await interpreterOf(optionalText('python', call.config, 'python') ?? options.python ?? 'python3');
      return runCode(call, python, code);
    },
  };
}

async function runCode(call: ToolCall, python: string, code: string): Promise<ToolResult> {
  const { config } = call;
  const cwd = optionalText('python', config, 'cwd');
  const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const outcome = await runProcess({
    file: python,
    args: ['-S', RUNNER],
    ...(cwd === undefined ? {} : { cwd }),
    env: { PYTHONUTF8: '1', PYTHONDONTWRITEBYTECODE: '1', ...environmentOf('python', config) },
    stdin: stringifyJson({
      code,
      args: call.input,
      context: withoutSecrets(call.context),
      libs: libsOf(call),
      step: call.step,
      execution_id: call.executionId,
      command_id: call.commandId,
      cwd_on_path: cwd !== undefined,
    }),
    timeoutMs,
    signal: call.signal,
    source: 'python',
    channelLimitBytes: RESULT_LIMIT_BYTES,
  });
  return resultOf(outcome, timeoutMs);
}

function resultOf(outcome: ProcessOutcome, timeoutMs: number): ToolResult {
  const { stdout, stderr } = outcome;
  const printed: JsonObject = { stdout, stderr };
  const common = {
    stdout,
    stderr,
    exit_code: outcome.exitCode ?? 1,
    duration_ms: outcome.durationMs,
    ...(outcome.truncated ? { truncated: true } : {}),
  };
  if (outcome.ending === 'timeout') {
    return { data: printed, ...common, ...timedOut(timeoutMs, processTimeout(timeoutMs, 'python', 'PY_TIMEOUT')) };
  }
  const failure = (error: string, info: ErrorInfo): ToolResult => ({
    status: 'error',
    data: printed,
    error,
    error_info: info,
    ...common,
  });
  if (outcome.channel?.complete === false) {
    const error = `Execution failed: the result is larger than ${RESULT_LIMIT_BYTES} bytes`;
    return failure(error, pythonError(['ResultTooLarge'], error));
  }
  const answer = outcome.channel === undefined || outcome.channel.text === '' ? null : parseJson(outcome.channel.text);
  if (!isObject(answer)) {
    // The interpreter went away before the runner could say how the step ended.
    const error =
      outcome.killedBy === null
        ? `Python script exited with code ${outcome.exitCode ?? 'unknown'}`
        : `Python process was killed by ${outcome.killedBy}`;
    return failure(error, pythonError(['ProcessExit'], error));
  }
  if (answer['ok'] === true) return { status: 'success', data: answer['value'] ?? printed, ...common };
  return failure(...describeException(answer));
}

function describeException(answer: JsonObject): [string, ErrorInfo] {
  const types = (Array.isArray(answer['types']) ? answer['types'] : []).filter((name) => typeof name === 'string');
  const type = types[0] ?? 'Exception';
  const text = typeof answer['message'] === 'string' ? answer['message'] : '';
  if (type === 'SystemExit') return [text, pythonError(types, text)];
  const line = typeof answer['line'] === 'number' ? answer['line'] : undefined;
  const where = line === undefined ? '' : ` (line ${line})`;
  const error = text === '' ? `${type}${where}` : `${type}: ${text}${where}`;
  const details: JsonObject = {
    type,
    message: text,
    traceback: answer['traceback'] ?? null,
    ...(line === undefined ? {} : { line }),
  };
  return [error, pythonError(types, error, details)];
}

async function codeOf(config: JsonObject, scriptRoot: string | undefined): Promise<string> {
  const code = optionalText('python', config, 'code');
  if (code !== undefined) return code;
  const encoded = optionalText('python', config, 'code_b64', 'code_base64');
  if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('utf8');
  const script = firstOf(config, 'script');
  if (typeof script === 'string') return script;
  if (isObject(script)) return scriptCode(script, scriptRoot);
  throw configurationError('python', 'code is required (or code_b64, or script)');
}

async function scriptCode(script: JsonObject, scriptRoot: string | undefined): Promise<string> {
  const source = firstOf(script, 'source');
  const from: JsonObject = isObject(source) ? source : script;
  const inline = optionalText('python', from, 'code', 'content') ?? optionalText('python', script, 'code', 'content');
  if (inline !== undefined) return inline;
  const type = optionalText('python', from, 'type') ?? 'file';
  if (type !== 'file') {
    throw configurationError('python', `script source '${type}' is not supported; use inline code or a file`);
  }
  const uri = optionalText('python', script, 'uri', 'path') ?? optionalText('python', from, 'uri', 'path');
  if (uri === undefined) throw configurationError('python', 'script.uri is required for a script file');
  if (scriptRoot === undefined) {
    throw configurationError('python', 'this worker has no script directory, so it runs no script files');
  }
  return readScript(scriptRoot, uri);
}

async function readScript(scriptRoot: string, uri: string): Promise<string> {
  try {
    const root = await realpath(scriptRoot);
    const file = await realpath(path.resolve(root, uri.replace(/^file:\/\//, '')));
    // realpath first: a symbolic link inside the directory must not lead out of it.
    if (file.startsWith(root + path.sep)) return await readFile(file, 'utf8');
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw configurationError('python', `cannot read script '${uri}': ${detail}`);
  }
  throw configurationError('python', `script '${uri}' lies outside the worker's script directory`);
}

function libsOf(call: ToolCall): JsonObject {
  const libs = call.config['libs'];
  if (Array.isArray(libs)) {
    if (libs.length > 0)
      call.log.warn({ step: call.step }, 'libs is a list of package names: ignored, nothing is installed');
    return {};
  }
  if (libs === undefined || libs === null) return {};
  if (!isObject(libs)) throw configurationError('python', 'libs must map an alias to a module');
  for (const [alias, target] of Object.entries(libs)) {
    if (!isLibrary(target)) throw configurationError('python', `libs.${alias} must be a module or {from, import}`);
  }
  return libs;
}

function isLibrary(target: Json): boolean {
  if (target === null || typeof target === 'string') return true;
  return isObject(target) && typeof target['from'] === 'string';
}

function withoutSecrets(context: JsonObject): JsonObject {
  const { keychain: _, ...rest } = context;
  return rest;
}

/** A shim (pyenv, asdf) costs more than the interpreter itself, so what it leads to is asked once. */
async function resolveInterpreter(name: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(name, ['-S', '-c', 'import sys; print(sys.executable)']);
    return stdout.trim() || name;
  } catch {
    // Starting it will fail too, with an error that names it.
    return name;
  }
}

// Lists that give their slot back: what they leave behind, and that they go on as if nothing had happened.
import { type Json, type JsonObject, parseJson, stringifyJson } from '@noetl/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../log.js';
import { builtinTools, toolRegistry } from '../tools/index.js';
import type { AnyTool, Suspension, ToolAnswer, ToolCall, ToolResult } from '../tools/tool.js';
import { always, answerOf, type Given, noop, policy, run, when } from './sequence.fixture.js';

/** Answers as the plan of its task says, in order: true succeeds, false fails. Remembers how it was called. */
function planned(plan: Record<string, readonly boolean[]>) {
  const calls: { task: Json; attempt: number; key: string | undefined }[] = [];
  const tool: AnyTool = {
    kind: 'planned',
    async run({ config, attempt, idempotencyKey }: ToolCall): Promise<ToolResult> {
      const task = String(config['task']);
      const turn = calls.filter((call) => call.task === task).length;
      calls.push({ task, attempt, key: idempotencyKey });
      const data = { task, turn };
      return plan[task]?.[turn] === false
        ? { status: 'error', error: `turn ${turn}`, data }
        : { status: 'success', data };
    },
  };
  return { calls, tools: toolRegistry([...builtinTools(), tool]) };
}

const retried = (task: string, then: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  kind: 'planned',
  task,
  ...policy(
    when('{{ output.status == "error" }}', { do: 'retry', attempts: 3, backoff: 'constant', delay: 60, ...then }),
  ),
  ...more,
});

/** Suspends at every retry with a delay. */
const EAGER = { suspendAfterMs: 0 };
const travelled = (state: Json): Json => parseJson(stringifyJson(state));

async function suspended(tasks: Json, given: Given): Promise<Suspension> {
  const answer = await answerOf(tasks, given);
  if (answer.status !== 'suspended') throw new Error(`the list has ended: ${stringifyJson(answer)}`);
  return answer;
}

/** As the runtime does it: called again and again, each time with the state it left. */
async function throughAll(tasks: Json, given: Given): Promise<{ result: ToolResult; suspensions: Suspension[] }> {
  const suspensions: Suspension[] = [];
  for (;;) {
    const state = suspensions.at(-1)?.state;
    const answer = await answerOf(tasks, { ...given, ...(state === undefined ? {} : { resume: travelled(state) }) });
    if (answer.status !== 'suspended') return { result: answer, suspensions };
    suspensions.push(answer);
  }
}

describe('a retry with a long delay', () => {
  it('suspends the list', async () => {
    const { tools } = planned({ a: [false] });
    const { delayMs, reason } = await suspended([{ a: retried('a') }], { tools });
    expect({ delayMs, reason }).toEqual({ delayMs: 60_000, reason: "task 'a' is tried again" });
  });

  it('of more than five seconds is one', async () => {
    const { tools } = planned({ a: [false] });
    expect((await suspended([{ a: retried('a', { delay: 5.001 }) }], { tools })).delayMs).toBe(5_001);
  });

  it('of five seconds is spent in place', async () => {
    const { tools } = planned({ a: [false] });
    const controller = new AbortController();
    const log = { ...silentLog, debug: () => controller.abort(new Error('was about to wait')) };
    const answer = answerOf([{ a: retried('a', { delay: 5 }) }], { tools, log, signal: controller.signal });
    await expect(answer).rejects.toThrow('was about to wait');
  });

  it('does not run again what has succeeded', async () => {
    const { calls, tools } = planned({ b: [false, false] });
    const list = [{ a: retried('a') }, { b: retried('b') }, { c: noop('{{ a.turn }} {{ b.turn }} {{ _prev.task }}') }];
    const { result, suspensions } = await throughAll(list, { tools });
    expect(suspensions).toHaveLength(2);
    expect(calls.map(({ task, attempt }) => `${task} ${attempt}`)).toEqual(['a 1', 'b 1', 'b 2', 'b 3']);
    expect(result).toMatchObject({ status: 'success', data: { c: '0 2 b', _pipeline: ['a', 'b', 'c'] } });
  });

  it('repeats under the key of the execution that failed', async () => {
    const { calls, tools } = planned({ a: [false] });
    await throughAll([{ a: retried('a') }], { tools });
    expect(calls.map(({ key }) => key)).toEqual(['cmd-1:a', 'cmd-1:a']);
  });

  it('gives up after the same number of attempts as without', async () => {
    const { calls, tools } = planned({ a: [false, false, false, false] });
    const { result } = await throughAll([{ a: retried('a') }], { tools });
    expect(result).toMatchObject({ status: 'error', error: 'turn 2', data: { failed_task: 0 } });
    expect(calls).toHaveLength(3);
  });

  it('keeps what was set, for later tasks and for the execution', async () => {
    const { tools } = planned({ b: [false] });
    const list = [
      { a: noop(1, { set: { 'ctx.x.y': '{{ output + 1 }}', 'iter.page': 7, plain: [1] } }) },
      { b: retried('b') },
      { c: noop('{{ ctx.x.y }} {{ iter.page }} {{ plain[0] }}') },
    ];
    const { result } = await throughAll(list, { tools });
    expect(result).toMatchObject({ data: { c: '2 7 1', _context_updates: { 'ctx.x.y': 2, plain: [1] } } });
  });

  it('of a single tool answers like the plain tool', async () => {
    const { tools } = planned({ a: [false] });
    const { result, suspensions } = await throughAll([{ a: retried('a') }], { tools, meta: { single: true } });
    expect(suspensions).toHaveLength(1);
    expect(result).toMatchObject({ status: 'success', data: { task: 'a', turn: 1 } });
  });

  it('counts towards the limit of executions, also over several runs', async () => {
    const { calls, tools } = planned({});
    const again = always({ do: 'retry', attempts: 99, backoff: 'constant', delay: 0.001 });
    const list = [{ a: { kind: 'planned', task: 'a', ...policy(again) } }];
    const { result } = await throughAll(list, { tools, options: { ...EAGER, maxExecutions: 4 } });
    expect(result).toMatchObject({ status: 'error', error_info: { code: 'MAX_ITERATIONS_EXCEEDED' } });
    expect(calls).toHaveLength(4);
  });

  it('takes the time of the wait into account', async () => {
    const { tools } = planned({ a: [false] });
    let at = Date.parse('2026-01-02T03:04:05Z');
    const options = { now: () => new Date(at) };
    const { state } = await suspended([{ a: retried('a') }], { tools, options });
    at += 61_000;
    const answer = await answerOf([{ a: retried('a') }], { tools, options, resume: travelled(state) });
    expect(answer).toMatchObject({ status: 'success', duration_ms: 61_000 });
  });
});

describe('a saved state that cannot be read', () => {
  it('makes the list start from its beginning, and is logged', async () => {
    const { calls, tools } = planned({});
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_fields: object, message: string) => void warnings.push(message) };
    const answer = await answerOf([{ a: retried('a') }], { tools, log, resume: { version: 99 } });
    expect(answer.status).toBe('success');
    expect(calls).toHaveLength(1);
    expect(warnings).toEqual(['a list of tasks starts from its beginning: its saved state cannot be read']);
  });

  it('fails a step that is declared not idempotent, before anything runs twice', async () => {
    const { calls, tools } = planned({});
    const answer = answerOf([{ a: retried('a') }], { tools, meta: { idempotent: false }, resume: { version: 99 } });
    await expect(answer).rejects.toMatchObject({ info: { code: 'STATE_UNREADABLE' } });
    expect(calls).toEqual([]);
  });
});

describe('a task whose tool suspends itself', () => {
  /** Suspends itself twice, then answers with the states it was called with. */
  function patient() {
    const calls: { attempt: number; idempotencyKey: string | undefined; resume: Json | undefined }[] = [];
    const tool: AnyTool = {
      kind: 'patient',
      async run({ attempt, idempotencyKey, resume }): Promise<ToolAnswer> {
        calls.push({ attempt, idempotencyKey, resume });
        const seen = Array.isArray(resume) ? resume : [];
        if (seen.length === 2) return { status: 'success', data: seen };
        return { status: 'suspended', delayMs: 10, state: [...seen, seen.length], reason: 'waits' };
      },
    };
    return { calls, tools: toolRegistry([...builtinTools(), tool]) };
  }

  it('suspends the list and gets its state back', async () => {
    const { tools } = patient();
    const list = [{ a: noop(1) }, { b: { kind: 'patient' } }, { c: noop('{{ a }} {{ b | length }}') }];
    const { result, suspensions } = await throughAll(list, { tools });
    expect(suspensions.map(({ delayMs, reason }) => ({ delayMs, reason }))).toEqual([
      { delayMs: 10, reason: "task 'b' waits" },
      { delayMs: 10, reason: "task 'b' waits" },
    ]);
    expect(result).toMatchObject({ status: 'success', data: { c: '1 2' } });
  });

  it('is still in its first attempt', async () => {
    const { calls, tools } = patient();
    await throughAll([{ b: { kind: 'patient' } }], { tools });
    expect(calls.map(({ attempt, idempotencyKey }) => ({ attempt, idempotencyKey }))).toEqual(
      Array.from({ length: 3 }, () => ({ attempt: 1, idempotencyKey: 'cmd-1:b' })),
    );
  });

  it('does not see the state of its list, nor hands its own to the next task', async () => {
    const { calls, tools } = patient();
    await throughAll([{ b: { kind: 'patient' } }, { c: { kind: 'patient' } }], { tools });
    expect(calls.map(({ resume }) => resume)).toEqual([undefined, [0], [0, 1], undefined, [0], [0, 1]]);
  });
});

it('a list that is interrupted at every retry ends like one that is not', async () => {
  const outcome = fc.array(fc.boolean(), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.record({ a: outcome, b: outcome, c: outcome }), fc.boolean(), async (plan, loops) => {
      const jump = when('{{ ctx.turns | default(0) < 2 }}', {
        do: 'jump',
        to: 'a',
        set: { 'ctx.turns': '{{ ctx.turns | default(0) + 1 }}' },
      });
      const list = [
        { a: retried('a', { delay: 0.001 }, { set: { 'ctx.a': '{{ output.turn }}' } }) },
        { b: retried('b', { delay: 0.001 }) },
        { c: retried('c', { delay: 0.001 }) },
        { d: noop('{{ a.turn }}{{ b.turn }}{{ c.turn }}{{ _prev.task }}', loops ? policy(jump) : {}) },
      ];
      const whole = planned(plan);
      const parts = planned(plan);
      const now = () => new Date(0);
      const expected = await run(list, { tools: whole.tools, options: { now } });
      const { result } = await throughAll(list, { tools: parts.tools, options: { ...EAGER, now } });
      expect(result).toEqual(expected);
      expect(parts.calls).toEqual(whole.calls);
    }),
    { numRuns: 60 },
  );
});

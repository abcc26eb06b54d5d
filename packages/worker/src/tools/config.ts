// Reading a rendered tool configuration. Values come out of templates, so a number may arrive as text and a
// missing value as null; whatever cannot be read is the author's mistake and is named as such.
import { isObject, type Json, type JsonObject } from '@noetl/core';
import { configurationError } from './errors.js';

/** The first of these keys that is present and not null. */
export function firstOf(config: JsonObject, ...keys: string[]): Json | undefined {
  for (const key of keys) {
    const value = config[key];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

export function optionalText(kind: string, config: JsonObject, ...keys: string[]): string | undefined {
  const value = firstOf(config, ...keys);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw configurationError(kind, `${keys[0]} must be text, got ${typeName(value)}`);
  return value;
}

export function booleanOf(kind: string, config: JsonObject, fallback: boolean, ...keys: string[]): boolean {
  const value = firstOf(config, ...keys);
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  const text = String(value).trim().toLowerCase();
  if (text === 'true' || text === '1' || text === 'yes') return true;
  if (text === 'false' || text === '0' || text === 'no' || text === '') return false;
  throw configurationError(kind, `${keys[0]} must be true or false`);
}

/** Text of a scalar; JSON for a list or an object. */
export function textOf(value: Json, toJson: (value: Json) => string): string {
  return typeof value === 'object' && value !== null ? toJson(value) : String(value);
}

/** `env:` of a process tool: scalars as text, null entries dropped. */
export function environmentOf(kind: string, config: JsonObject): Record<string, string> {
  const declared = config['env'];
  if (declared === undefined || declared === null) return {};
  if (!isObject(declared)) throw configurationError(kind, 'env must be a mapping of names to values');
  const entries: [string, string][] = [];
  for (const [name, value] of Object.entries(declared)) {
    if (value === null) continue;
    if (typeof value === 'object') throw configurationError(kind, `env.${name} must be a single value`);
    entries.push([name, String(value)]);
  }
  return Object.fromEntries(entries);
}

/** Seconds as a number or as text, in milliseconds; undefined when absent or not a positive number. */
export function secondsToMs(value: Json | undefined): number | undefined {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return undefined;
  // Node's timers hold a signed 32-bit number of milliseconds and fire at once beyond it.
  return Math.min(Math.ceil(seconds * 1000), 2_147_483_647);
}

export function declaredTimeoutMs(config: JsonObject): number | undefined {
  return secondsToMs(config['timeout_seconds']) ?? secondsToMs(config['timeout']);
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}

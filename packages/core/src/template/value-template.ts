// A whole JSON value with templates anywhere inside: in strings and in the keys of maps. What holds no template is
// returned as it is, by reference, and is never re-typed: the string "01234" stays that string.
import type { Json } from '../json/types.js';
import { TemplateError, within } from './error.js';
import { put } from './kinds.js';
import { allowDataDepth } from './limits.js';
import type { Scope } from './scope.js';
import { compileTemplate, isTemplate } from './template.js';

export interface ValueTemplate {
  readonly roots: ReadonlySet<string>;
  /** Nothing inside is a template: `render` returns the value that was compiled. */
  readonly constant: boolean;
  render(scope: Scope): Json;
}

export interface ValueOptions {
  /** Keys, at any depth, whose string is rendered as text whatever type its expression has. */
  readonly textKeys?: ReadonlySet<string>;
}

type Render = (scope: Scope) => Json;

export function compileValue(value: Json, options: ValueOptions = {}): ValueTemplate {
  const roots = new Set<string>();
  const textKeys = options.textKeys ?? new Set();
  const render = compilePart(value, { path: '', depth: 0, asText: false, textKeys, roots });
  return { roots, constant: render === undefined, render: render ?? (() => value) };
}

interface Place {
  readonly path: string;
  readonly depth: number;
  readonly asText: boolean;
  readonly textKeys: ReadonlySet<string>;
  readonly roots: Set<string>;
}

/** Undefined when nothing inside is a template. */
function compilePart(value: Json, place: Place): Render | undefined {
  if (typeof value === 'string') return compileString(value, place);
  if (typeof value !== 'object' || value === null) return undefined;
  allowDataDepth(place.depth);
  return Array.isArray(value) ? compileList(value, place) : compileMap(value, place);
}

function compileString(source: string, place: Place): Render | undefined {
  if (!isTemplate(source)) return undefined;
  const { path } = place;
  const template = named(path, source, () => compileTemplate(source));
  for (const root of template.roots) place.roots.add(root);
  const render: Render = place.asText ? template.text : template.evaluate;
  return (scope) => named(path, source, () => render(scope));
}

function compileList(list: readonly Json[], place: Place): Render | undefined {
  const parts = list.map((part, index) =>
    compilePart(part, { ...place, path: `${place.path}[${index}]`, depth: place.depth + 1, asText: false }),
  );
  if (parts.every((part) => part === undefined)) return undefined;
  return (scope) =>
    list.map((part, index) => {
      const render = parts[index];
      return render ? render(scope) : part;
    });
}

function compileMap(map: Readonly<Record<string, Json>>, place: Place): Render | undefined {
  const entries = Object.entries(map).map(([key, part]) => {
    const path = place.path === '' ? key : `${place.path}.${key}`;
    const inner = { ...place, path, depth: place.depth + 1, asText: place.textKeys.has(key) };
    return { key, part, renderKey: compileKey(key, inner), render: compilePart(part, inner) };
  });
  if (entries.every(({ renderKey, render }) => renderKey === undefined && render === undefined)) return undefined;
  return (scope) => {
    const rendered: Record<string, Json> = {};
    for (const { key, part, renderKey, render } of entries) {
      put(rendered, renderKey?.(scope) ?? key, render ? render(scope) : part);
    }
    return rendered;
  };
}

function compileKey(key: string, place: Place): ((scope: Scope) => string) | undefined {
  if (!isTemplate(key)) return undefined;
  const template = named(place.path, key, () => compileTemplate(key));
  for (const root of template.roots) place.roots.add(root);
  return (scope) => named(place.path, key, () => template.text(scope));
}

function named<T>(path: string, source: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError && path !== '' ? within(error, path, source) : error;
  }
}

// YAML text -> located tree. All the limits that keep hostile text harmless live here: tokens, nesting, alias expansion.
// After this module no value is rounded, no key is written twice and no alias is left.
import { Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, Parser, type Node as YamlNode } from 'yaml';
import {
  childPath,
  type Entry,
  type MapNode,
  type Node,
  type Place,
  type ScalarNode,
  type ScalarStyle,
} from './node.js';
import type { Report } from './report.js';
import { positionAt, type Source } from './source.js';
import { reportSyntaxErrors } from './syntax.js';

/** About sixty thousand lines of pure structure; block text counts as one token however long it is. */
const MAX_TOKENS = 500_000;
/** The YAML composer recurses, and V8 aborts the process (not an exception) when a regex compiles on an exhausted stack. */
const MAX_DEPTH = 100;
/** Values that aliases may add to the document ("billion laughs"). */
const MAX_ALIASED_NODES = 50_000;
const DEPTH_HINT = 'flatten the structure';
const ALIAS_HINT = 'write the value out here';

const MAX_BAD_ESCAPES = 100;
const MAX_STRAY_TOKENS = 100;

const COMPOSE_OPTIONS = {
  version: '1.2',
  schema: 'core',
  resolveKnownTags: false,
  prettyErrors: false,
  // The library compares every pair of keys; duplicates are found here in linear time.
  uniqueKeys: false,
} as const;

export function readDocument(source: Source, report: Report): Node | undefined {
  const composed = compose(source, report);
  if (composed === undefined) return undefined;
  if (composed.errors.length > 0 || composed.warnings.length > 0) {
    reportSyntaxErrors(source, composed, report);
    return undefined;
  }
  const root: unknown = composed.contents;
  if (isEmpty(root)) {
    report.error('yaml.empty', 'The document is empty', START, 'start with `apiVersion: noetl.io/v2`');
    return undefined;
  }
  return createConverter(source, report).convert(root as YamlNode, '', 0);
}

function isEmpty(contents: unknown): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

const START: Place = { path: '', at: { line: 1, column: 1 } };

function compose(source: Source, report: Report): Document.Parsed | undefined {
  const limit = { hit: false };
  let first: Document.Parsed | undefined;
  let trailing = false;
  for (const document of new Composer(COMPOSE_OPTIONS).compose(
    boundedTokens(source, report, limit),
    true,
    source.text.length,
  )) {
    if (limit.hit) return undefined;
    if (first === undefined) {
      first = document as Document.Parsed;
    } else if (trailing || !isEmpty(document.contents)) {
      const at = positionAt(source, document.range[0]);
      report.error(
        'yaml.several-documents',
        'The file holds several YAML documents; a playbook is one document',
        { path: '', at },
        'put each playbook into its own file and remove the `---` line',
      );
      return undefined;
    } else {
      // A `---` at the end of the file opens a document that holds nothing.
      trailing = true;
    }
  }
  return first;
}

/** The token stream of the document, cut off at the limits before the recursive composer sees it. */
function* boundedTokens(source: Source, report: Report, limit: { hit: boolean }) {
  const parser = new Parser();
  let tokens = 0;
  let stray = 0;
  const refuse = (code: string, message: string, hint: string): void => {
    limit.hit = true;
    report.error(code, message, { path: '', at: positionAt(source, parser.offset) }, hint);
  };
  for (const lexeme of new Lexer().lex(source.text)) {
    if (++tokens > MAX_TOKENS) {
      return refuse('yaml.too-large', `The document has more than ${MAX_TOKENS} YAML tokens`, 'split the playbook');
    }
    if (lexeme.startsWith('"') && badEscapes(lexeme) > MAX_BAD_ESCAPES) {
      return refuse(
        'yaml.syntax',
        'A quoted text is full of invalid escapes',
        'use single quotes, or double the backslashes',
      );
    }
    if (parser.stack.length > MAX_DEPTH) {
      return refuse('yaml.too-deep', `Values are nested more than ${MAX_DEPTH} levels deep`, DEPTH_HINT);
    }
    for (const token of parser.next(lexeme)) {
      if ((token.type === 'error' || token.type === 'directive') && ++stray > MAX_STRAY_TOKENS) {
        return refuse('yaml.syntax', 'The text is not YAML', 'a playbook starts with `apiVersion: noetl.io/v2`');
      }
      yield token;
    }
  }
  yield* parser.end();
}

/** The composer allocates an error for each of them, and one token can hold millions. */
function badEscapes(quoted: string): number {
  let bad = 0;
  for (let at = quoted.indexOf('\\'); at !== -1; at = quoted.indexOf('\\', at + 2)) {
    if (!GOOD_ESCAPE.test(quoted.slice(at + 1, at + 10))) bad++;
  }
  return bad;
}

const GOOD_ESCAPE = /^(?:[0abt\tnvfre "/\\N_LP\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/;

interface Converter {
  convert(node: YamlNode | null, path: string, depth: number): Node;
}

function createConverter(source: Source, report: Report): Converter {
  const anchors = new Map<string, YamlNode>();
  const open = new Set<YamlNode>();
  let aliasDepth = 0;
  let aliased = 0;

  const placeOf = (node: YamlNode | null, path: string): Place => ({
    path,
    at: positionAt(source, node?.range?.[0] ?? 0),
  });
  const nothing = (place: Place, offset = 0): ScalarNode => ({
    ...place,
    type: 'scalar',
    value: null,
    text: '',
    style: 'plain',
    offset,
  });

  function convert(node: YamlNode | null, path: string, depth: number): Node {
    const place = placeOf(node, path);
    if (node === null) return nothing(place);
    if (depth > MAX_DEPTH) {
      report.error('yaml.too-deep', `Values are nested more than ${MAX_DEPTH} levels deep`, place, DEPTH_HINT);
      return nothing(place);
    }
    if (aliasDepth > 0 && ++aliased > MAX_ALIASED_NODES) {
      report.error(
        'yaml.alias-limit',
        `Aliases expand to more than ${MAX_ALIASED_NODES} values`,
        { path: '', at: place.at },
        'write the values out, or pass them in as workload',
      );
      return nothing(place);
    }
    if (isAlias(node)) return convertAlias(node.source, node, path, depth);
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    open.add(node);
    const converted = convertContent(node, place, depth);
    open.delete(node);
    return converted;
  }

  function convertAlias(name: string, alias: YamlNode, path: string, depth: number): Node {
    const place = placeOf(alias, path);
    const target = anchors.get(name);
    if (target === undefined) {
      report.error('yaml.unknown-alias', `Alias \`*${name}\` has no anchor \`&${name}\` before it`, place, ALIAS_HINT);
      return nothing(place);
    }
    if (open.has(target)) {
      report.error('yaml.recursive-alias', `Alias \`*${name}\` refers to a value that contains it`, place, ALIAS_HINT);
      return nothing(place);
    }
    aliasDepth++;
    const converted = convert(target, path, depth + 1);
    aliasDepth--;
    return converted;
  }

  function convertContent(node: YamlNode, place: Place, depth: number): Node {
    if (isMap(node)) return convertMap(node.items, node.flow === true, place, depth, node);
    if (isSeq(node)) {
      const items = node.items.map((item, i) => convert(item as YamlNode | null, `${place.path}[${i}]`, depth + 1));
      return { ...place, type: 'list', items };
    }
    if (!isScalar(node)) return nothing(place);
    return convertScalar(node, place);
  }

  function convertScalar(node: { value: unknown; source?: string; type?: string; range?: unknown }, place: Place) {
    const offset = Array.isArray(node.range) ? Number(node.range[0]) : 0;
    const text = node.source ?? '';
    const value = exactValue(node.value, text);
    if (typeof value === 'number' && !Number.isFinite(value)) {
      report.error('yaml.number', `\`${text}\` is not a number that JSON can hold`, place, 'put it in quotes');
    }
    const scalar: ScalarNode = {
      ...place,
      type: 'scalar',
      value,
      text: typeof value === 'string' ? value : text,
      style: styleOf(node.type),
      offset,
    };
    return scalar;
  }

  function convertMap(
    pairs: readonly { key: unknown; value: unknown }[],
    flow: boolean,
    place: Place,
    depth: number,
    node: YamlNode,
  ): Node {
    const entries = new Map<string, Entry>();
    const merged: MapNode[] = [];
    for (const pair of pairs) {
      const key = pair.key as YamlNode | null;
      if (flow && isMap(key) && key.flow === true) {
        reportUnquotedTemplate(node, place);
        continue;
      }
      const keyNode = convertKey(key, place.path, depth);
      if (keyNode === undefined) continue;
      const name = keyNode.text;
      const entryPlace = placeOf(key, childPath(place.path, name));
      const value = convert(pair.value as YamlNode | null, entryPlace.path, depth + 1);
      const inherited = name === '<<' && keyNode.style === 'plain' ? mapsIn(value) : undefined;
      if (inherited !== undefined) {
        merged.push(...inherited);
        continue;
      }
      const earlier = entries.get(name);
      if (earlier !== undefined) {
        report.error(
          'yaml.duplicate-key',
          `Key \`${name}\` is written twice in the same map`,
          entryPlace,
          `it is already on line ${earlier.at.line}; keep one of them`,
        );
        continue;
      }
      // A key without a value has no node of its own: point to the key.
      const located = pair.value === null ? { ...value, at: entryPlace.at } : value;
      entries.set(name, { ...entryPlace, key: name, value: located });
    }
    for (const map of merged) {
      for (const [name, entry] of map.entries) if (!entries.has(name)) entries.set(name, entry);
    }
    return { ...place, type: 'map', entries };
  }

  function convertKey(key: YamlNode | null, path: string, depth: number): ScalarNode | undefined {
    const place = placeOf(key, path);
    const scalar = key === null ? undefined : convert(key, path, depth + 1);
    if (scalar === undefined || scalar.type !== 'scalar') {
      report.error('yaml.key', 'A key must be plain text', place, 'write `key: value`');
      return undefined;
    }
    return scalar;
  }

  function reportUnquotedTemplate(node: YamlNode, place: Place): void {
    const text = source.text.slice(node.range?.[0] ?? 0, node.range?.[1] ?? 0);
    report.error(
      'yaml.unquoted-template',
      'A template at the start of a value must be quoted: YAML reads `{{` as a map',
      place,
      text.includes('\n') || text.length > 80 ? 'put the value in quotes' : `write "${text.replaceAll('"', "'")}"`,
    );
  }

  return { convert };
}

/** What a merge key brings in: a map or a list of maps. With any other value `<<` is a key like any other (YAML 1.2). */
function mapsIn(value: Node): MapNode[] | undefined {
  const items = value.type === 'list' ? value.items : [value];
  const maps = items.filter((item) => item.type === 'map');
  return maps.length === items.length ? maps : undefined;
}

/** Integers that a double cannot hold become bigint; what the core schema does not know stays text. */
function exactValue(value: unknown, text: string): ScalarNode['value'] {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') {
    const integer = /^[-+]?\d+$|^0[xo]/.test(text);
    return integer && !Number.isSafeInteger(value) ? toBigInt(text) : value;
  }
  if (typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'string') return value;
  return String(value);
}

function toBigInt(text: string): bigint {
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text.replace(/^\+/, ''));
}

function styleOf(type: string | undefined): ScalarStyle {
  switch (type) {
    case 'BLOCK_LITERAL':
      return 'literal';
    case 'BLOCK_FOLDED':
      return 'folded';
    case 'QUOTE_DOUBLE':
    case 'QUOTE_SINGLE':
      return 'quoted';
    default:
      return 'plain';
  }
}

// YAML syntax errors in the words of someone who writes playbooks, pointing to the place to edit.
import { type Document, isScalar, visit, type YAMLError } from 'yaml';
import type { Position } from './model.js';
import type { Report } from './report.js';
import { lineText, positionAt, type Source } from './source.js';

// One mistake makes the YAML parser stumble again and again; the first few are the useful ones.
const MAX_SYNTAX_ERRORS = 10;
/** The start of a line is enough to recognise a mistake; the patterns below are not linear. */
const MAX_LINE = 1_000;

interface Explanation {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** When the place to edit is not where the parser gave up. */
  readonly at?: Position;
}

export function reportSyntaxErrors(source: Source, document: Document.Parsed, report: Report): void {
  const lines = new Set<number>();
  for (const problem of [...document.errors, ...document.warnings]) {
    const found = positionAt(source, problem.pos[0]);
    if (lines.has(found.line)) continue;
    const { code, message, hint, at = found } = explain(problem, source, found, document);
    if (lines.has(at.line)) continue;
    lines.add(at.line);
    report.error(code, message, { path: '', at }, hint);
    if (lines.size >= MAX_SYNTAX_ERRORS) return;
  }
}

function explain(problem: YAMLError, source: Source, found: Position, document: Document.Parsed): Explanation {
  const line = lineText(source, found.line).slice(0, MAX_LINE);
  const indentation = /^[ \t]*/.exec(line)?.[0] ?? '';
  const tab = indentation.indexOf('\t');
  if (problem.code === 'TAB_AS_INDENT' || (tab !== -1 && found.column <= indentation.length + 1)) {
    return {
      code: 'yaml.tab',
      message: 'A tab is used for indentation; YAML allows only spaces',
      hint: 'replace the tab with spaces (two for each level)',
      at: { line: found.line, column: Math.max(tab, 0) + 1 },
    };
  }
  const template = /(?:^|[:-]) +(\{\{)/.exec(line);
  if (template !== null && template.index < found.column) {
    return {
      code: 'yaml.unquoted-template',
      message: 'A value that starts with a template must be quoted: YAML reads `{{` as a map',
      hint: 'put the whole value in double quotes: `key: "{{ … }} …"`',
      at: { line: found.line, column: template.index + template[0].length - 1 },
    };
  }
  return explainCode(problem, source, line, document);
}

function explainCode(problem: YAMLError, source: Source, line: string, document: Document.Parsed): Explanation {
  const code = 'yaml.syntax';
  switch (problem.code) {
    case 'MISSING_CHAR': {
      if (/closing ["']/.test(problem.message)) {
        const at = openingQuote(source, document);
        return { code, message: 'A quoted text is never closed', hint: 'add the closing quote', ...(at && { at }) };
      }
      return { code, message: problem.message, hint: 'write `key: value`, with a space after the colon' };
    }
    case 'UNEXPECTED_TOKEN':
      if (/["'].*["']/.test(line)) {
        return {
          code,
          message: 'There is text after the closing quote',
          hint: "put the whole value in quotes; inside single quotes write a quote twice (`it''s`)",
        };
      }
      return { code, message: problem.message, hint: 'check the indentation of this line' };
    case 'BLOCK_AS_IMPLICIT_KEY':
      return {
        code,
        message: 'A value on the same line as its key cannot hold another `key: value`',
        hint: 'quote a value that contains `: `, or check the indentation of the next line',
      };
    case 'MULTILINE_IMPLICIT_KEY':
      return {
        code,
        message: 'This line is neither `key: value` nor a list item',
        hint: 'write `key: value`, with a space after the colon',
      };
    case 'BAD_SCALAR_START':
      return { code, message: problem.message, hint: 'put the value in quotes' };
    case 'BAD_INDENT':
      return { code, message: problem.message, hint: 'align this line with the other keys of the same map or list' };
    case 'BAD_DQ_ESCAPE':
      return { code, message: problem.message, hint: 'use single quotes, or double the backslash' };
    case 'TAG_RESOLVE_FAILED':
      return { code: 'yaml.tag', message: `${problem.message}; playbooks use no YAML tags`, hint: 'remove the tag' };
    default:
      return { code, message: problem.message, hint: 'check the indentation and the quotes around this place' };
  }
}

/** The parser notices a missing quote at the end of the file; the author needs the quote that opened the text. */
function openingQuote(source: Source, document: Document.Parsed): Position | undefined {
  let last: Position | undefined;
  visit(document, {
    Scalar: (_, node) => {
      if (isScalar(node) && node.type?.startsWith('QUOTE') === true && node.range) {
        last = positionAt(source, node.range[0]);
      }
    },
  });
  return last;
}

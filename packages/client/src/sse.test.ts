import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseParser, type SseMessage } from './sse.js';

function parse(...chunks: string[]): SseMessage[] {
  const parser = createSseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

describe('lines', () => {
  it.each([
    ['LF', 'id: 7\nevent: status\ndata: x\n\n'],
    ['CR LF', 'id: 7\r\nevent: status\r\ndata: x\r\n\r\n'],
    ['CR', 'id: 7\revent: status\rdata: x\r\r'],
  ])('may end in %s', (_, text) => {
    expect(parse(text)).toEqual([{ id: '7', event: 'status', data: 'x' }]);
  });

  it('may be cut between CR and LF', () => {
    expect(parse('data: a\r', '\ndata: b\r', '\n\r', '\n')).toEqual([{ event: 'message', data: 'a\nb' }]);
  });
});

describe('messages', () => {
  it('join several data lines with line feeds', () => {
    expect(parse('data: a\ndata:\ndata:  b\n\n')).toEqual([{ event: 'message', data: 'a\n\n b' }]);
  });

  it('ignore comments and unknown fields', () => {
    expect(parse(': keep-alive\n\nfoo: bar\ndata: x\n:\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('need data', () => {
    expect(parse('event: status\nid: 3\n\ndata: x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('do not inherit the name or id of the message before', () => {
    expect(parse('event: a\nid: 1\ndata: x\n\ndata: y\n\n')[1]).toEqual({ event: 'message', data: 'y' });
  });

  it('are dropped when the stream ends before their blank line', () => {
    expect(parse('data: x\n')).toEqual([]);
  });

  it('ignore an id with NUL', () => {
    expect(parse('id: a\0b\ndata: x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });

  it('may follow a byte order mark', () => {
    expect(parse('\ufeffdata: x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
  });
});

it('remembers the retry time the server asks for', () => {
  const parser = createSseParser();
  parser.push('retry: 1500\nretry: soon\n\n');
  expect(parser.retryMs).toBe(1500);
});

it('gives the same messages wherever the text is cut', () => {
  const line = fc.constantFrom('data: a', 'data', 'data:  b', 'event: status', 'id: 12', ': c', '', 'x', 'data: é🙂');
  const document = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
    // A lone CR before a line feed would read as CR LF, so the ends of one document are all alike.
    .map((lines) => lines.map(([text]) => text).join(lines[0]?.[1] ?? '\n'));
  fc.assert(
    fc.property(document, fc.array(fc.nat({ max: 200 }), { maxLength: 10 }), (text, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort((a, b) => a - b);
      const chunks = at.slice(1).map((end, index) => text.slice(at[index], end));
      expect(parse(...chunks)).toEqual(parse(text));
    }),
    { numRuns: 500 },
  );
});

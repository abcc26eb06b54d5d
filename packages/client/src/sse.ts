// Server-sent events, as the HTML standard defines the format, fed chunk by chunk.
// What must stay true: the messages do not depend on where the chunks are cut, not even inside CR LF.

export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** Set when this message carried an `id:` line of its own. */
  readonly id?: string;
}

export interface SseParser {
  /** Messages that this chunk completes. An unfinished one at the end of the stream is dropped, as the standard says. */
  push(chunk: string): SseMessage[];
  /** The server's wish for the pause before a reconnect (`retry:`). */
  readonly retryMs: number | undefined;
}

export function createSseParser(): SseParser {
  let rest = '';
  let searchFrom = 0;
  let skipLineFeed = false;
  let atStart = true;
  let retryMs: number | undefined;

  let event = '';
  let data: string[] = [];
  let id: string | undefined;

  function takeLine(line: string, messages: SseMessage[]): void {
    if (line === '') {
      // A message without data is no message: the server used it to send an id or a retry.
      if (data.length > 0) {
        messages.push({ event: event || 'message', data: data.join('\n'), ...(id === undefined ? {} : { id }) });
      }
      event = '';
      data = [];
      id = undefined;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
    else if (field === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }

  return {
    get retryMs() {
      return retryMs;
    },
    push(chunk) {
      if (chunk === '') return [];
      if (atStart) {
        atStart = false;
        if (chunk.startsWith('\ufeff')) chunk = chunk.slice(1);
      }
      if (skipLineFeed && chunk !== '') {
        skipLineFeed = false;
        if (chunk.startsWith('\n')) chunk = chunk.slice(1);
      }
      rest += chunk;
      const messages: SseMessage[] = [];
      let start = 0;
      for (;;) {
        const end = endOfLine(rest, Math.max(start, searchFrom));
        if (end === -1) break;
        takeLine(rest.slice(start, end), messages);
        start = end + 1;
        if (rest[end] === '\r') {
          if (start === rest.length) skipLineFeed = true;
          else if (rest[start] === '\n') start += 1;
        }
      }
      rest = rest.slice(start);
      // A long line arrives in many chunks: what was searched once is not searched again.
      searchFrom = rest.length;
      return messages;
    },
  };
}

const LINE_END = /[\r\n]/g;

function endOfLine(text: string, from: number): number {
  LINE_END.lastIndex = from;
  return LINE_END.exec(text)?.index ?? -1;
}

// What a reader of broken JSON is told: what is wrong, in plain words, and where.

/** The text is not JSON, or is JSON that we refuse (nested too deeply, an integer of absurd length). */
export class JsonSyntaxError extends SyntaxError {
  override readonly name = 'JsonSyntaxError';
  /** 0-based, in UTF-16 code units. */
  readonly offset: number;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 code units. */
  readonly column: number;

  constructor(problem: string, text: string, offset: number) {
    const { line, column } = positionOf(text, offset);
    super(`${problem}, line ${line} column ${column}`);
    this.offset = offset;
    this.line = line;
    this.column = column;
  }
}

function positionOf(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (;;) {
    const lineFeed = text.indexOf('\n', lineStart);
    if (lineFeed === -1 || lineFeed >= offset) return { line, column: offset - lineStart + 1 };
    line += 1;
    lineStart = lineFeed + 1;
  }
}

// The one error templates raise. It says where inside the template text the author should look;
// positions may be attached after the fact, because operators do not know where they were written.

export interface TemplateErrorPlace {
  readonly source?: string;
  readonly offset?: number;
  readonly path?: string;
}

export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  /** Index into the template text. */
  readonly offset?: number;
  /** 1-based, inside the template text. */
  readonly line?: number;
  /** 1-based, inside the line. */
  readonly column?: number;
  /** Where the template sits inside a value compiled by `compileValue`, e.g. `input.items[2]`. */
  readonly path?: string;

  constructor(message: string, place: TemplateErrorPlace = {}) {
    super(message);
    if (place.path !== undefined) this.path = place.path;
    if (place.offset === undefined) return;
    this.offset = place.offset;
    if (place.source === undefined) return;
    const before = place.source.slice(0, place.offset);
    this.line = before.split('\n').length;
    this.column = place.offset - before.lastIndexOf('\n');
  }
}

/** The same complaint with a position; an error that already knows its position keeps it. */
export function locate(error: TemplateError, source: string, offset: number): TemplateError {
  return error.offset === undefined ? new TemplateError(error.message, { source, offset }) : error;
}

/** The same complaint, naming the field whose template failed. */
export function within(error: TemplateError, path: string, source: string): TemplateError {
  if (error.path !== undefined) return error;
  return new TemplateError(error.message, {
    path,
    source,
    ...(error.offset === undefined ? {} : { offset: error.offset }),
  });
}

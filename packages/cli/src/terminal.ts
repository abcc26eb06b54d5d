// Where output goes and how it may look: data on stdout, talk on stderr; colour and redrawing only for a person at a terminal.
import { stripVTControlCharacters } from 'node:util';

export interface Output {
  readonly write: (text: string) => unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export type Paint = (text: string) => string;

export interface Palette {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
}

const plain: Paint = (text) => text;
const sgr =
  (open: number, close: number): Paint =>
  (text) =>
    `\u001b[${open}m${text}\u001b[${close}m`;

const noColours: Palette = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain };
const colours: Palette = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39),
};

/** https://no-color.org: any non-empty value switches colour off. */
export function paletteFor(output: Pick<Output, 'isTTY'>, env: NodeJS.ProcessEnv = process.env): Palette {
  const wanted = output.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  return wanted ? colours : noColours;
}

// Node's stripVTControlCharacters also swallows ordinary letters between a colour code and a later BEL.
const ESCAPE_SEQUENCES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?/g;

/** Text from elsewhere (an error, a step name) must not move the cursor or recolour the screen. */
export function sanitise(text: string): string {
  return text.replace(ESCAPE_SEQUENCES, '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

/** Shortened to `width` visible characters; colour codes do not count and are closed. */
export function truncate(text: string, width: number): string {
  if (stripVTControlCharacters(text).length <= width) return text;
  let visible = 0;
  let out = '';
  for (const part of text.split(/(\u001b\[\d+m)/)) {
    if (part.startsWith('\u001b[')) {
      out += part;
    } else if (visible < width - 1) {
      const cut = part.slice(0, width - 1 - visible);
      visible += cut.length;
      out += cut;
    }
  }
  return `${out}…`;
}

/** Columns padded to the widest cell; the last one is left as it is. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], palette: Palette): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => stripVTControlCharacters(row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        if (column === cells.length - 1) return cell;
        return cell + ' '.repeat((widths[column] ?? 0) - stripVTControlCharacters(cell).length);
      })
      .join('  ')
      .trimEnd();
  return [palette.dim(line(head)), ...rows.map(line)].map((text) => `${text}\n`).join('');
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

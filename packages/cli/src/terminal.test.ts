import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { paletteFor, sanitise, table, truncate } from './terminal.js';

const coloured = paletteFor({ isTTY: true }, {});

describe('colour', () => {
  it('is used on a terminal only', () => {
    expect(paletteFor({ isTTY: true }, {}).red('x')).not.toBe('x');
    expect(paletteFor({ isTTY: false }, {}).red('x')).toBe('x');
  });

  it('is off when NO_COLOR is set, on when it is empty', () => {
    expect(paletteFor({ isTTY: true }, { NO_COLOR: '1' }).red('x')).toBe('x');
    expect(paletteFor({ isTTY: true }, { NO_COLOR: '' }).red('x')).not.toBe('x');
  });
});

describe('text on the screen', () => {
  it('is cut to the width without counting colour codes, which are closed', () => {
    const cut = truncate(`${coloured.red('abc')}${coloured.dim('defgh')}`, 5);
    expect(stripVTControlCharacters(cut)).toBe('abcd…');
    expect(cut).toContain('\u001b[22m');
  });

  it('stays as it is when it fits', () => {
    expect(truncate('abc', 3)).toBe('abc');
  });

  it('loses control characters but keeps line breaks', () => {
    expect(sanitise('a\u001b[31mb\u0007\nc')).toBe('ab\nc');
  });

  it('lines up in columns, coloured or not', () => {
    const text = table(
      ['ID', 'STATUS'],
      [
        ['1', coloured.red('FAILED')],
        ['12345', 'OK'],
      ],
      paletteFor({}, {}),
    );
    expect(stripVTControlCharacters(text)).toBe('ID     STATUS\n1      FAILED\n12345  OK\n');
  });
});

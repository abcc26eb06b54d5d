// Base64 of UTF-8 text without Buffer or btoa, so that it works wherever core runs.

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

export function encodeBase64(text: string): string {
  const bytes = utf8Bytes(text);
  const groups: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = [bytes[i], bytes[i + 1], bytes[i + 2]];
    const word = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    const third = b === undefined ? '=' : digit(word >> 6);
    const fourth = c === undefined ? '=' : digit(word);
    groups.push(digit(word >> 18) + digit(word >> 12) + third + fourth);
  }
  return groups.join('');
}

/** Undefined when the text is not Base64, or not of UTF-8. The URL alphabet, spaces and missing padding are accepted. */
export function decodeBase64(text: string): string | undefined {
  const digits = text
    .replace(/\s+/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/={0,2}$/, '');
  if (digits.length % 4 === 1) return undefined;
  const bytes: number[] = [];
  let word = 0;
  let bits = 0;
  for (const character of digits) {
    const value = ALPHABET.indexOf(character);
    if (value === -1) return undefined;
    word = ((word << 6) | value) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((word >> bits) & 0xff);
    }
  }
  return utf8Text(bytes);
}

function digit(value: number): string {
  return ALPHABET[value & 63] ?? '';
}

function utf8Bytes(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    // Half a surrogate pair has no UTF-8 form; it becomes the replacement character, as encoders everywhere do.
    const code = point >= 0xd800 && point <= 0xdfff ? 0xfffd : point;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(code));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), tail(code >> 6), tail(code));
    else bytes.push(0xf0 | (code >> 18), tail(code >> 12), tail(code >> 6), tail(code));
  }
  return bytes;
}

function tail(code: number): number {
  return 0x80 | (code & 0x3f);
}

function utf8Text(bytes: readonly number[]): string | undefined {
  const characters: string[] = [];
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i] ?? 0;
    const length = lead < 0x80 ? 1 : lead >> 5 === 6 ? 2 : lead >> 4 === 14 ? 3 : lead >> 3 === 30 ? 4 : 0;
    if (length === 0 || i + length > bytes.length) return undefined;
    let code = length === 1 ? lead : lead & (0x7f >> length);
    for (let j = i + 1; j < i + length; j++) {
      const byte = bytes[j] ?? 0;
      if (byte >> 6 !== 2) return undefined;
      code = (code << 6) | (byte & 0x3f);
    }
    const smallest = [0, 0, 0x80, 0x800, 0x10000][length] ?? 0;
    if (code < smallest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
    characters.push(String.fromCodePoint(code));
    i += length;
  }
  return characters.join('');
}

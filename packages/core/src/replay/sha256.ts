// SHA-256 (FIPS 180-4) of text, written out because this package runs in browsers too, where the only hash of the platform is asynchronous
// and the fold must not be. sha256.test.ts holds it against the platform's own.

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND_CONSTANTS = Int32Array.from(firstPrimes(64), (prime) => fractionBits(Math.cbrt(prime)));
/** The same of the square roots of the first 8. */
const INITIAL_STATE = Int32Array.from(firstPrimes(8), (prime) => fractionBits(Math.sqrt(prime)));

const BLOCK = 64;
/** Bytes that are encoded before they are hashed; a multiple of the block. */
const BUFFER = 256 * BLOCK;

// Working memory of a call. A call never yields, so one of each is enough.
const schedule = new Int32Array(64);
const buffer = new Uint8Array(BUFFER + BLOCK);

/** Lower-case hexadecimal hash of the UTF-8 bytes of the text. Half of a surrogate pair counts as U+FFFD. */
export function sha256Hex(text: string): string {
  const state = INITIAL_STATE.slice();
  let filled = 0;
  let total = 0;

  for (let at = 0; at < text.length; ) {
    const plain = encodePlain(text, at, filled);
    at += plain;
    filled += plain;
    if (filled < BUFFER && at < text.length) {
      const point = scalarAt(text, at);
      at += point > 0xffff ? 2 : 1;
      filled = encodePoint(point, filled);
    }
    if (filled >= BUFFER) {
      compressAll(state, BUFFER);
      buffer.copyWithin(0, BUFFER, filled);
      filled -= BUFFER;
      total += BUFFER;
    }
  }
  total += filled;

  // Padding: one bit, zeros, and the length in bits as a 64-bit integer at the end of a block.
  const end = Math.ceil((filled + 9) / BLOCK) * BLOCK;
  buffer.fill(0, filled, end);
  buffer[filled] = 0x80;
  const bits = new DataView(buffer.buffer);
  bits.setUint32(end - 8, Math.floor(total / 2 ** 29));
  bits.setUint32(end - 4, (total * 8) >>> 0);
  compressAll(state, end);

  let hex = '';
  for (const word of state) hex += (word >>> 0).toString(16).padStart(8, '0');
  return hex;
}

/** Almost everything we hash is ASCII, so this loop is all there is to encoding. How many characters it took. */
function encodePlain(text: string, from: number, filled: number): number {
  const stop = Math.min(text.length, from + BUFFER - filled);
  let at = from;
  while (at < stop) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) break;
    buffer[filled++] = unit;
    at++;
  }
  return at - from;
}

/** Where the next byte goes. */
function encodePoint(point: number, filled: number): number {
  if (point < 0x800) {
    buffer[filled++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x10000) {
      buffer[filled++] = 0xe0 | (point >> 12);
    } else {
      buffer[filled++] = 0xf0 | (point >> 18);
      buffer[filled++] = 0x80 | ((point >> 12) & 0x3f);
    }
    buffer[filled++] = 0x80 | ((point >> 6) & 0x3f);
  }
  buffer[filled++] = 0x80 | (point & 0x3f);
  return filled;
}

function scalarAt(text: string, at: number): number {
  const point = text.codePointAt(at) ?? 0;
  return point >= 0xd800 && point <= 0xdfff ? 0xfffd : point;
}

function compressAll(state: Int32Array, end: number): void {
  for (let start = 0; start < end; start += BLOCK) compress(state, start);
}

// The names of the standard. Typed arrays of known length are never read past their end; `as number` says so to the compiler.
function compress(state: Int32Array, start: number): void {
  const w = schedule;
  for (let i = 0, at = start; i < 16; i++, at += 4) {
    w[i] =
      ((buffer[at] as number) << 24) |
      ((buffer[at + 1] as number) << 16) |
      ((buffer[at + 2] as number) << 8) |
      (buffer[at + 3] as number);
  }
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15] as number;
    const y = w[i - 2] as number;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = ((w[i - 16] as number) + s0 + (w[i - 7] as number) + s1) | 0;
  }

  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  let f = state[5] as number;
  let g = state[6] as number;
  let h = state[7] as number;
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = g ^ (e & (f ^ g));
    const t1 = (h + s1 + choice + (ROUND_CONSTANTS[i] as number) + (w[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const majority = (a & b) ^ (c & (a ^ b));
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + s0 + majority) | 0;
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
  state[4] = (state[4] as number) + e;
  state[5] = (state[5] as number) + f;
  state[6] = (state[6] as number) + g;
  state[7] = (state[7] as number) + h;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}

function fractionBits(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) | 0;
}

// A machine id for a process that was not given one: a hash of its host name. Two names may collide (10 bits), so a
// cluster hands out machine ids by lease; this is the default of a single process and of reference deployments.
import { MAX_MACHINE_ID } from './snowflake.js';

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

/** FNV-1a (64 bit) of the UTF-8 bytes of `name`, masked to 10 bits. */
export function machineIdFromName(name: string): number {
  let hash = FNV_OFFSET;
  for (const byte of utf8(name)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * FNV_PRIME);
  return Number(hash & BigInt(MAX_MACHINE_ID));
}

/** Written out because this package has no platform API, not even TextEncoder. A lone surrogate counts as U+FFFD. */
function* utf8(text: string): Generator<number> {
  for (const character of text) {
    const scalar = character.codePointAt(0) ?? 0;
    const point = scalar >= 0xd800 && scalar <= 0xdfff ? 0xfffd : scalar;
    if (point < 0x80) {
      yield point;
    } else if (point < 0x800) {
      yield 0xc0 | (point >> 6);
      yield 0x80 | (point & 0x3f);
    } else if (point < 0x10000) {
      yield 0xe0 | (point >> 12);
      yield 0x80 | ((point >> 6) & 0x3f);
      yield 0x80 | (point & 0x3f);
    } else {
      yield 0xf0 | (point >> 18);
      yield 0x80 | ((point >> 12) & 0x3f);
      yield 0x80 | ((point >> 6) & 0x3f);
      yield 0x80 | (point & 0x3f);
    }
  }
}

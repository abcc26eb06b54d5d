// Python's arithmetic on JSON numbers: integers stay exact (a result beyond 2^53 becomes a bigint, one that fits
// becomes a number again), division and modulo follow Python's signs, and no operation yields NaN or Infinity.
import { TemplateError } from './error.js';
import { LIMITS } from './limits.js';

export type Numeric = number | bigint;

export function integerLiteral(digits: string): Numeric {
  // Parsing an endless run of digits is itself expensive, so the length is checked first.
  if (digits.length > LIMITS.integerBits) throw tooLarge();
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : bounded(BigInt(digits));
}

/** A bigint only where a number would round. */
export function normalise(value: bigint): Numeric {
  const narrow = Number(value);
  return Number.isSafeInteger(narrow) ? narrow : value;
}

export const add = (a: Numeric, b: Numeric): Numeric =>
  exact(
    a,
    b,
    (x, y) => x + y,
    (x, y) => x + y,
  );

export const subtract = (a: Numeric, b: Numeric): Numeric =>
  exact(
    a,
    b,
    (x, y) => x - y,
    (x, y) => x - y,
  );

export const multiply = (a: Numeric, b: Numeric): Numeric =>
  exact(
    a,
    b,
    (x, y) => x * y,
    (x, y) => x * y,
  );

export function divide(a: Numeric, b: Numeric): Numeric {
  refuseZero(b);
  return finite(Number(a) / Number(b));
}

export function floorDivide(a: Numeric, b: Numeric): Numeric {
  refuseZero(b);
  return exact(
    a,
    b,
    (x, y) => (isExact(x) && isExact(y) ? floorQuotient(x, y) : floatFloor(x, y)),
    (x, y) => (x - bigModulo(x, y)) / y,
  );
}

export function modulo(a: Numeric, b: Numeric): Numeric {
  refuseZero(b);
  return exact(a, b, floorModulo, bigModulo);
}

export function power(a: Numeric, b: Numeric): Numeric {
  if (isExact(a) && isExact(b) && b >= 0) {
    if (typeof a === 'number' && typeof b === 'number') {
      const quick = a ** b;
      if (Number.isSafeInteger(quick)) return quick;
    }
    if (a === 0 || a === 1) return a;
    if (a === -1) return Number(modulo(b, 2)) === 0 ? 1 : -1;
    if (bits(BigInt(a)) * Number(b) > LIMITS.integerBits + bits(BigInt(a))) throw tooLarge();
    return normalise(bounded(BigInt(a) ** BigInt(b)));
  }
  if (Number(a) === 0 && Number(b) < 0) throw new TemplateError('zero cannot be raised to a negative power');
  // The engine rounds `7 ** -2` differently from 1 / 49, which is the nearest number.
  const inverse = isExact(a) && isExact(b) ? Number(a) ** -Number(b) : Number.NaN;
  const result = Number.isSafeInteger(inverse) ? 1 / inverse : Number(a) ** Number(b);
  if (Number.isNaN(result)) throw new TemplateError('a negative number has no fractional power');
  return finite(result);
}

export function negate(value: Numeric): Numeric {
  if (typeof value === 'bigint') return normalise(-value);
  return value === 0 ? 0 : -value;
}

/** Rounds like Python: ties, exact in binary, go to the even neighbour. */
export function roundHalfEven(value: number, precision: number): number {
  if (precision > 100 || Math.abs(value) >= 1e21) return value;
  if (precision < 0) {
    const unit = 10 ** -precision;
    return Number.isFinite(unit) ? roundHalfEven(value / unit, 0) * unit : 0;
  }
  const digits = Math.abs(value).toFixed(100);
  const cut = digits.indexOf('.') + 1 + precision;
  const tie = /^50*$/.test(digits.slice(cut));
  const kept = digits.slice(0, cut).replace(/\.$/, '');
  const even = Number(kept.at(-1)) % 2 === 0;
  const magnitude = tie && even ? Number(kept) : Number(Math.abs(value).toFixed(precision));
  return value < 0 && magnitude !== 0 ? -magnitude : magnitude;
}

/** A whole number of either representation, from a value that may be fractional. */
export function truncate(value: Numeric): Numeric {
  if (typeof value === 'bigint') return value;
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? (whole === 0 ? 0 : whole) : normalise(BigInt(whole));
}

function exact(
  a: Numeric,
  b: Numeric,
  floating: (x: number, y: number) => number,
  integral: (x: bigint, y: bigint) => bigint,
): Numeric {
  const integers = isExact(a) && isExact(b);
  if (typeof a === 'number' && typeof b === 'number') {
    const result = floating(a, b);
    if (!integers || Number.isSafeInteger(result)) return finite(result);
  }
  if (!integers) return finite(floating(Number(a), Number(b)));
  return normalise(bounded(integral(BigInt(a), BigInt(b))));
}

/** A number beyond 2^53 came from a float: treating it as an exact integer would invent digits. */
function isExact(value: Numeric): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

/** Taken of an exact multiple, so rounding cannot push it over the floor; NaN when that multiple is not exact. */
function floorQuotient(x: number, y: number): number {
  const multiple = x - floorModulo(x, y);
  return isExact(multiple) ? multiple / y : Number.NaN;
}

/** As Python does it: from the remainder, because `x / y` may already have been rounded over the next whole number. */
function floatFloor(x: number, y: number): number {
  const quotient = (x - floorModulo(x, y)) / y;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

function floorModulo(x: number, y: number): number {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest === 0 ? 0 : rest;
}

function bigModulo(x: bigint, y: bigint): bigint {
  const rest = x % y;
  return rest !== 0n && rest < 0n !== y < 0n ? rest + y : rest;
}

function refuseZero(divisor: Numeric): void {
  if (Number(divisor) === 0) throw new TemplateError('division by zero');
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw tooLarge();
  return value;
}

function bounded(value: bigint): bigint {
  if (bits(value) > LIMITS.integerBits) throw tooLarge();
  return value;
}

function bits(value: bigint): number {
  return (value < 0n ? -value : value).toString(16).length * 4;
}

function tooLarge(): TemplateError {
  return new TemplateError('the number is too large');
}

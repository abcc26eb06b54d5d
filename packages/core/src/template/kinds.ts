// Which kind of JSON a value is, and the words error messages use for it. Only plain objects count as maps:
// attributes of anything else (dates, functions, class instances) do not exist for a template.

export type MapValue = Record<string, unknown>;

export function isMap(value: unknown): value is MapValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has a foreign Object.prototype, itself without a prototype.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

export function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

export function isInteger(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isInteger(value);
}

/** Assigns an own key, whatever its name: `__proto__` must be a key like any other. */
export function put(map: MapValue, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    map[key] = value;
  }
}

/** How error messages call a value. */
export function kindOf(value: unknown): string {
  if (isNothing(value)) return 'nothing (undefined or null)';
  if (typeof value === 'boolean') return 'a boolean';
  if (isNumeric(value)) return 'a number';
  if (typeof value === 'string') return 'text';
  if (Array.isArray(value)) return 'a list';
  return isMap(value) ? 'a map' : 'text';
}

// What a value of Postgres is in JSON. Values arrive as text; a type that is not listed stays the text that Postgres shows. No parser may
// throw: an odd value is shown as it came.
import { isObject, type Json, stringifyJson } from '@noetl/core';
import type pg from 'pg';
import { documentOf } from './sql-json.js';

type Parser = (text: string) => Json;

const SCALARS: Readonly<Record<number, { parse: Parser; array: number }>> = {
  16: { parse: (text) => text === 't', array: 1000 }, // bool
  17: { parse: bytea, array: 1001 },
  20: { parse: integer, array: 1016 }, // int8
  21: { parse: integer, array: 1005 }, // int2
  23: { parse: integer, array: 1007 }, // int4
  26: { parse: integer, array: 1028 }, // oid
  114: { parse: documentOf, array: 199 },
  700: { parse: float, array: 1021 }, // float4
  701: { parse: float, array: 1022 }, // float8
  1114: { parse: timestamp, array: 1115 },
  1184: { parse: timestampWithZone, array: 1185 },
  3802: { parse: documentOf, array: 3807 }, // jsonb
};
/** Arrays of types whose values stay text: text, varchar, bpchar, name, numeric, uuid, date, time, timetz, interval, inet, cidr. */
const TEXT_ARRAYS = [1009, 1015, 1014, 1003, 1231, 2951, 1182, 1183, 1270, 1187, 1041, 651];

const PARSERS = new Map<number, Parser>([
  ...Object.entries(SCALARS).flatMap(([oid, { parse, array }]): [number, Parser][] => [
    [Number(oid), parse],
    [array, (text) => parseArray(text, parse)],
  ]),
  ...TEXT_ARRAYS.map((oid): [number, Parser] => [oid, (text) => parseArray(text, (item) => item)]),
]);

export const jsonTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number) => PARSERS.get(oid) ?? String) as typeof pg.types.getTypeParser,
};

/** Beyond 2^53 as text, so that no reader of the JSON can round it. */
function integer(text: string): Json {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** JSON has no NaN and no Infinity. */
function float(text: string): Json {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function bytea(text: string): Json {
  return text.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex').toString('base64') : text;
}

/** `infinity` and dates before Christ stay as they are. */
function timestamp(text: string): Json {
  return /^\d{4,}-\d\d-\d\d \S+$/.test(text) ? text.replace(' ', 'T') : text;
}

function timestampWithZone(text: string): Json {
  const [, moment, zone] = /^(.*?)([+-]\d{2}(?::\d{2}){0,2})$/.exec(text) ?? [];
  if (moment === undefined || zone === undefined) return text;
  return `${timestamp(moment)}${zone.length === 3 ? `${zone}:00` : zone}`;
}

/** `{1,NULL,{"a b"}}`, perhaps behind its bounds: `[0:1]={1,2}`. */
function parseArray(text: string, parse: Parser): Json {
  const body = text.startsWith('[') ? text.slice(text.indexOf('=') + 1) : text;
  let at = 0;
  const list = (): Json[] => {
    const items: Json[] = [];
    at += 1;
    while (at < body.length && body[at] !== '}') {
      if (body[at] === ',') at += 1;
      else if (body[at] === '{') items.push(list());
      else items.push(item());
    }
    at += 1;
    return items;
  };
  const item = (): Json => {
    const pattern = /"((?:[^"\\]|\\[\s\S])*)"|[^,{}"]+/y;
    pattern.lastIndex = at;
    const [whole = body.slice(at), quoted] = pattern.exec(body) ?? [];
    at += whole.length;
    if (quoted !== undefined) return parse(quoted.replaceAll(/\\([\s\S])/g, '$1'));
    return whole.toUpperCase() === 'NULL' ? null : parse(whole);
  };
  return body.startsWith('{') ? list() : text;
}

/** What is sent for a parameter. A list is an array of Postgres, unless it holds objects: then it can only be meant as JSON. */
export function parameterOf(value: Json): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (isObject(value)) return stringifyJson(value);
  if (!Array.isArray(value)) return value;
  return value.some((item) => isObject(item)) ? stringifyJson(value) : value.map(parameterOf);
}

// A JSON document from a column. One that is nested more deeply than a result can be stays the text that it is, like one that is none.
import { type Json, parseJson } from '@noetl/core';
import { jsonSize } from '../json-size.js';

/** Lists and objects around the document in the result of a step: a row, an array, and what the runtime adds. */
const LEVELS_AROUND = 20;

export function documentOf(text: string): Json {
  try {
    const document = parseJson(text);
    jsonSize(document, LEVELS_AROUND);
    return document;
  } catch {
    return text;
  }
}

// Postgres refuses two things in jsonb that JSON allows: the character U+0000 and half of a surrogate pair. One such
// character in a worker's output must not make the database refuse the event, so both become U+FFFD on the way in.

// An escaped backslash and a whole pair are matched first, so that their parts cannot be mistaken for what we look for.
const ESCAPE_TO_JUDGE =
  /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g;

/** Length of the escapes we replace: `\u0000`, `\ud800`. */
const LONE_ESCAPE_LENGTH = 6;

/**
 * JSON text that jsonb accepts. `JSON.stringify` writes both offenders as `\u` escapes, so a text without one is returned
 * as it is. Unescaped halves of pairs need no care: the UTF-8 encoder of the connection replaces them.
 */
export function toStorableText(jsonText: string): string {
  if (!jsonText.includes('\\u')) return jsonText;
  return jsonText.replace(ESCAPE_TO_JUDGE, (found) => (found.length === LONE_ESCAPE_LENGTH ? '\\ufffd' : found));
}

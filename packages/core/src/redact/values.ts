// Texts that are secrets by their own shape, whatever key they stand under.
// What must stay true: every pattern runs in linear time, because these texts come from strangers.

export const MASK = '[REDACTED]';

const AUTHORIZATION = /^\s*(?:bearer|basic)\s+\S/i;
const PEM_PRIVATE_KEY = /-----BEGIN[^\n]{0,64}PRIVATE KEY-----/;

// Inside a longer text too: an error message that quotes a request is the usual way for a token to get out.
const BEARER_IN_TEXT = /\b(bearer\s{1,8})[\w~+/.=-]{16,}/gi;
const JWT_IN_TEXT = /(?<![\w-])eyJ[\w-]{10,}(?:\.[\w-]*){2,4}/g;
const URL_PASSWORD = /(:\/\/[^\s/?#:@"'<>]*:)([^\s/?#"'<>]+)(?=@)/g;

const LONG_BASE64 = /^[A-Za-z0-9+/]{38,}={0,2}$/;
const MIN_RANDOM_LENGTH = 40;
const HEX = /^[0-9a-fA-F]+$/;

const TEMPLATE = /\{\{[^{}]*\}\}|\{%[^{}]*%\}/g;
const ONLY_SCHEME = /^\s*(?:bearer|basic)?\s*$/i;

/**
 * True when the text is a template and nothing else (`Bearer {{ keychain.api.token }}`): it says where the secret comes
 * from, which is what a reader needs, and holds none.
 */
export function isTemplate(text: string): boolean {
  if (!text.includes('{')) return false;
  const rest = text.replace(TEMPLATE, '');
  return rest !== text && ONLY_SCHEME.test(rest);
}

/** The text with its secrets masked; the same text when it has none. `mayLookRandom` is for checksums. */
export function redactText(text: string, mayLookRandom: boolean): string {
  if (AUTHORIZATION.test(text)) return isTemplate(text) ? text : MASK;
  if (text.includes('-----BEGIN') && PEM_PRIVATE_KEY.test(text)) return MASK;
  if (!mayLookRandom && looksRandom(text)) return MASK;
  let result = text;
  if (result.includes('eyJ')) result = result.replace(JWT_IN_TEXT, MASK);
  if (result.includes('://')) result = result.replace(URL_PASSWORD, maskPassword);
  if (/bearer/i.test(result)) result = result.replace(BEARER_IN_TEXT, `$1${MASK}`);
  return result;
}

/** Long base64 that mixes cases and digits. Hexadecimal is left alone: commit ids and digests are not secrets. */
function looksRandom(text: string): boolean {
  return (
    text.length >= MIN_RANDOM_LENGTH &&
    LONG_BASE64.test(text) &&
    !HEX.test(text) &&
    /[A-Z]/.test(text) &&
    /[a-z]/.test(text) &&
    /[0-9]/.test(text)
  );
}

function maskPassword(_whole: string, before: string, password: string): string {
  return before + (isTemplate(password) ? password : MASK);
}

// Content as clients send it.

/** A body may be YAML or base64 of it; text is decoded only when it is not YAML of a mapping itself but decodes to one. */
export function decodeContent(content: string): string {
  if (/[:\n]/.test(content) || !/^[A-Za-z0-9+/=\s]+$/.test(content)) return content;
  const decoded = Buffer.from(content, 'base64').toString('utf8');
  return /[:\n]/.test(decoded) && !decoded.includes('\uFFFD') ? decoded : content;
}

import { parseJson } from '@noetl/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decoded, encoded, headersShown, isSubject, outgoing } from './nats-message.js';

const structured = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);

describe('what travels through NATS', () => {
  it('comes back as it was sent', () => {
    fc.assert(
      fc.property(structured, (value) => {
        const sent = parseJson(JSON.stringify(value));
        expect(decoded(encoded(sent))).toEqual(sent);
      }),
    );
  });

  it('keeps ids that no number holds', () => {
    expect(decoded(encoded({ id: 380566825353609227n }))).toEqual({ id: 380566825353609227n });
  });

  it('is text when it is no JSON', () => {
    expect(decoded(encoded('not {json'))).toBe('not {json');
  });

  it('has headers with one value or several', () => {
    const { headers } = outgoing({ subject: 'a', headers: { One: 1, Many: ['x', 'y'], None: null } }, '');
    expect(headersShown(headers)).toEqual({ One: '1', Many: ['x', 'y'] });
  });

  it('has no header that would begin another one', () => {
    expect(() => outgoing({ subject: 'a', headers: { Evil: 'x\r\nNats-Msg-Id: 1' } }, 'messages[3].')).toThrow(
      'messages[3].headers.Evil holds a character that no header takes',
    );
  });

  it.each([{ msg_id: 7 }, { headers: { 'Nats-Msg-Id': '7' } }])('has the message id of %o', (message) => {
    expect(outgoing({ subject: 'a', ...message }, '').messageId).toBe('7');
  });
});

describe('a subject', () => {
  it('is made of tokens and dots', () => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 8 }), (tokens) => {
        expect(isSubject(tokens.join('.'))).toBe(true);
      }),
    );
  });

  it('never holds a blank, a wildcard or an empty token', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom(' ', '\r\n', '*', '>', '..', '\0'),
        fc.string(),
        (before, bad, after) => {
          expect(isSubject(`${before}${bad}${after}`)).toBe(false);
        },
      ),
    );
  });
});

import { expect, it } from 'vitest';
import { createResolver, type ResolverOptions } from './resolver.js';

function given(texts: Record<string, string>, options: Partial<ResolverOptions> = {}) {
  const reads: string[] = [];
  const clock = { now: 1_000 };
  const resolver = createResolver({
    now: () => clock.now,
    async read({ name }) {
      reads.push(name);
      const text = texts[name];
      return text === undefined ? undefined : { text, expires_at: name === 'short' ? '1970-01-01T00:00:02Z' : null };
    },
    ...options,
  });
  return { resolver, reads, clock, texts };
}

const ref = (name: string) => `noetl://execution/1/result/${name}/2`;

it('what was never loaded is not at hand', () => {
  expect(given({}).resolver.get(ref('a'))).toBeUndefined();
});

it('what was loaded is there for everybody, and read once', async () => {
  const { resolver, reads } = given({ a: '{"rows":[1]}' });
  await resolver.hold().load(ref('a'));
  await resolver.hold().load(ref('a'));
  expect(resolver.get(ref('a'))).toEqual({ value: { rows: [1] } });
  expect(reads).toEqual(['a']);
});

it('a list of tools is shown as its step shows it', async () => {
  const { resolver } = given({ a: '{"make":{"rows":[1]},"_pipeline":["make"]}' });
  await resolver.hold().load(ref('a'));
  expect(resolver.get(ref('a'))).toMatchObject({ value: { rows: [1], make: { rows: [1] } } });
});

it('what does not exist is gone, until it is looked for again', async () => {
  const { resolver, clock, texts } = given({});
  await resolver.hold().load(ref('a'));
  expect(resolver.get(ref('a'))).toEqual({ gone: expect.stringContaining(ref('a')) });
  texts['a'] = '1';
  clock.now += 5_000;
  expect(resolver.get(ref('a'))).toBeUndefined();
  await resolver.hold().load(ref('a'));
  expect(resolver.get(ref('a'))).toEqual({ value: 1 });
});

it('an address that cannot be read is gone without a look', async () => {
  const { resolver, reads } = given({});
  const held = resolver.hold();
  await held.load('noetl://elsewhere');
  expect(held.get('noetl://elsewhere')).toHaveProperty('gone');
  expect(reads).toEqual([]);
});

it('a result is forgotten when its time is over', async () => {
  const { resolver, clock } = given({ short: '1' });
  await resolver.hold().load(ref('short'));
  expect(resolver.get(ref('short'))).toEqual({ value: 1 });
  clock.now = 2_000;
  expect(resolver.get(ref('short'))).toBeUndefined();
});

it('the least recently used make room', async () => {
  const { resolver } = given({ a: '"aa"', b: '"bb"', c: '"cc"' }, { cacheLimit: 10 });
  await resolver.hold().load(ref('a'));
  await resolver.hold().load(ref('b'));
  resolver.get(ref('a'));
  await resolver.hold().load(ref('c'));
  expect([resolver.get(ref('a')), resolver.get(ref('b')), resolver.get(ref('c'))]).toEqual([
    { value: 'aa' },
    undefined,
    { value: 'cc' },
  ]);
});

it('one decision keeps what it has loaded, also when the cache is too small for it', async () => {
  const { resolver } = given({ a: '"aaaaaaaa"', b: '"bbbbbbbb"' }, { cacheLimit: 5 });
  const held = resolver.hold();
  await held.load(ref('a'));
  await held.load(ref('b'));
  expect([held.get(ref('a')), held.get(ref('b'))]).toEqual([{ value: 'aaaaaaaa' }, { value: 'bbbbbbbb' }]);
});

it('one decision cannot fill the memory', async () => {
  const { resolver } = given({ a: '"aaaaaaaa"', b: '"bbbbbbbb"' }, { holdLimit: 15 });
  const held = resolver.hold();
  await held.load(ref('a'));
  await held.load(ref('b'));
  expect(held.get(ref('a'))).toEqual({ value: 'aaaaaaaa' });
  expect(held.get(ref('b'))).toEqual({ gone: expect.stringContaining('more than 15 bytes') });
});

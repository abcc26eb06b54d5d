import { describe, expect, it } from 'vitest';
import { isAllowedAddress, literalAddress } from './egress.js';

describe('the egress policy', () => {
  it.each(['169.254.169.254', '::ffff:169.254.169.254', 'fe80::1', 'fd00:ec2::254'])('never allows %s', (address) => {
    expect(isAllowedAddress(address, 'any')).toBe(false);
  });

  it.each(['127.0.0.1', '10.1.2.3', '172.20.0.1', '192.168.1.1', '::1', 'fd12::1', '::ffff:10.0.0.1', '0.0.0.0'])(
    'allows %s unless only public addresses are allowed',
    (address) => {
      expect(isAllowedAddress(address, 'any')).toBe(true);
      expect(isAllowedAddress(address, 'public')).toBe(false);
    },
  );

  it.each(['8.8.8.8', '172.32.0.1', '2606:4700::1'])('always allows %s', (address) => {
    expect(isAllowedAddress(address, 'public')).toBe(true);
  });

  it('knows a host that is an address already', () => {
    expect(literalAddress('[::1]')).toBe('::1');
    expect(literalAddress(new URL('http://2852039166/').hostname)).toBe('169.254.169.254');
    expect(literalAddress('example.com')).toBeUndefined();
  });
});

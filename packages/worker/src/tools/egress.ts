// Which addresses a playbook may call. The check sits in the socket's own name lookup, so the address that was checked
// is the address that is connected to: a name that resolves differently a moment later gains nothing.
import { lookup as dnsLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** `any`: everything but link-local (cloud metadata). `public`: also no loopback and no private network. */
export type Egress = 'any' | 'public';

const never = new BlockList();
never.addSubnet('169.254.0.0', 16, 'ipv4');
never.addAddress('100.100.100.200', 'ipv4');
never.addSubnet('fe80::', 10, 'ipv6');
never.addAddress('fd00:ec2::254', 'ipv6');

const internal = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  internal.addSubnet(net, prefix, 'ipv4');
}
internal.addAddress('::', 'ipv6');
internal.addAddress('::1', 'ipv6');
internal.addSubnet('fc00::', 7, 'ipv6');

export function isAllowedAddress(address: string, egress: Egress): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (never.check(address, family)) return false;
  return egress === 'any' || !internal.check(address, family);
}

/** Host part of a URL that is an address already: such a host is never looked up, so it is checked before connecting. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? undefined : bare;
}

export function refusal(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`address of ${host} is not allowed by the worker's egress policy`), {
    code: 'EGRESS_DENIED',
  });
}

export function guardedLookup(egress: Egress): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const allowed = addresses.filter(({ address }) => isAllowedAddress(address, egress));
      const first = allowed[0];
      if (first === undefined) return callback(refusal(hostname), '', 0);
      if (options.all === true) return callback(null, allowed);
      return callback(null, first.address, first.family);
    });
  };
}

// Where callbacks must not go: addresses inside the network of the server. The check sits in the socket's own name lookup, so the address that
// was checked is the address that is connected to, and a name that resolves differently a moment later gains nothing.
import { lookup as dnsLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const inside = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  inside.addSubnet(net, prefix, 'ipv4');
}
inside.addAddress('::', 'ipv6');
inside.addAddress('::1', 'ipv6');
inside.addSubnet('fc00::', 7, 'ipv6');
inside.addSubnet('fe80::', 10, 'ipv6');
inside.addSubnet('::ffff:0:0', 96, 'ipv6');

/** The host of a URL is an address, not a name, and lies inside. */
export function insideAddress(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) !== 0 && isInside(address);
}

export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, '', 0);
    const outside = addresses.filter(({ address }) => !isInside(address));
    const [first] = outside;
    if (first === undefined) return callback(notAllowed(hostname), '', 0);
    if (options.all === true) return callback(null, outside);
    return callback(null, first.address, first.family);
  });
};

export function notAllowed(host: string): Error {
  return new Error(`callbacks to ${host} are not allowed: it is inside the network of the server`);
}

function isInside(address: string): boolean {
  return inside.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

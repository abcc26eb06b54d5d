// `spec.ingress`: the address that messages are pushed to, and how each delivery is verified. There is no way to verify nothing: the
// address is reachable by everybody.
import { readChoice, readMap } from '../playbook/fields.js';
import type { MapNode } from '../playbook/node.js';
import { fieldOf, type Scope } from '../playbook/scope.js';
import { missing, requireNode, requireText } from './fields.js';
import type { Ingress, Verification } from './model.js';

const VERIFICATIONS = ['hmac_sha256', 'bearer', 'pubsub_oidc'] as const satisfies readonly Verification['type'][];

const INGRESS_HINT = 'write `ingress: { gateway_path: /ingress/orders, verify: { type: … } }`';
const PATH_HINT = 'write an absolute path, like `gateway_path: /ingress/orders`';
const VERIFY_HINT = `write \`verify:\` with \`type:\` ${VERIFICATIONS.join(', ')}`;

export function readIngress(scope: Scope, spec: MapNode): Ingress | undefined {
  if (requireNode(scope, spec, 'ingress', INGRESS_HINT) === undefined) return undefined;
  const ingress = readMap(scope, spec, 'ingress', INGRESS_HINT);
  if (ingress === undefined) return undefined;
  const gatewayPath = readGatewayPath(scope, ingress);
  const verify = readVerification(scope, ingress);
  return gatewayPath === undefined || verify === undefined ? undefined : { gatewayPath, verify };
}

function readGatewayPath(scope: Scope, ingress: MapNode): string | undefined {
  const path = requireText(scope, ingress, 'gateway_path', PATH_HINT);
  if (path === undefined) return undefined;
  // `/` alone would leave the listener without a name.
  if (/^\/.*[^/]/.test(path)) return path;
  const place = ingress.entries.get('gateway_path')?.value ?? ingress;
  scope.report.error('ingress.path', `${fieldOf(place)} must start with '/' and name a listener`, place, PATH_HINT);
  return undefined;
}

function readVerification(scope: Scope, ingress: MapNode): Verification | undefined {
  const verify = readMap(scope, ingress, 'verify', VERIFY_HINT);
  if (verify === undefined) {
    if (!ingress.entries.has('verify')) missing(scope, ingress, 'verify', VERIFY_HINT);
    return undefined;
  }
  const type = readChoice(scope, requireNode(scope, verify, 'type', VERIFY_HINT), VERIFICATIONS);
  if (type === undefined) return undefined;
  const text = (key: string, what: string) => requireText(scope, verify, key, `\`${type}\` needs \`${key}\`: ${what}`);
  switch (type) {
    case 'hmac_sha256': {
      const header = text('header', 'the header that carries the signature');
      const secret = text('secret', 'the name of the credential');
      return header === undefined || secret === undefined ? undefined : { type, header, secret };
    }
    case 'bearer': {
      const secret = text('secret', 'the name of the credential');
      return secret === undefined ? undefined : { type, secret };
    }
    case 'pubsub_oidc': {
      const audience = text('audience', 'the audience that the token must name');
      const serviceAccount = text('service_account', 'the account that sends');
      return audience === undefined || serviceAccount === undefined ? undefined : { type, audience, serviceAccount };
    }
  }
}

// What a failure of NATS is called in the log of an execution.
import { JetStreamApiError } from '@nats-io/jetstream';
import {
  AuthorizationError,
  ClosedConnectionError,
  ConnectionError,
  DrainingConnectionError,
  InvalidArgumentError,
  InvalidSubjectError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import { connectionError, type ErrorInfo, type ErrorKind, ToolError } from './errors.js';
import type { NatsSettings } from './nats-connection.js';

const KIND = 'nats';

export function natsError(error: unknown, { servers }: NatsSettings): ToolError {
  if (error instanceof ToolError) return error;
  const { message, ...info } = natsFailure(error, servers.join(', '));
  return new ToolError(message, info, { cause: error });
}

/** @param target what is talked to, in words */
export function natsFailure(error: unknown, target: string): ErrorInfo {
  const text = messageOf(error);
  const info = (kind: ErrorKind, retryable: boolean, code: string, message = `NATS error: ${text}`): ErrorInfo => ({
    kind,
    retryable,
    code,
    message,
    source: KIND,
  });
  if (isNoResponders(error))
    return info(
      'not_found',
      false,
      'NATS_NO_RESPONDERS',
      `NATS error: ${target}: no stream takes this, or JetStream is off`,
    );
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError)
    return info('auth', false, 'NATS_AUTH', `NATS error: ${target} does not let this step in: ${text}`);
  if (error instanceof PermissionViolationError) return info('auth', false, 'NATS_PERMISSION');
  if (error instanceof JetStreamApiError) return apiFailure(error, info);
  if (error instanceof InvalidArgumentError || error instanceof InvalidSubjectError)
    return info('client_error', false, 'NATS_INVALID');
  if (error instanceof TimeoutError || causeOf(error) instanceof TimeoutError)
    return info('timeout', true, 'NATS_TIMEOUT', `NATS error: ${target} did not answer in time`);
  if (isConnectionLost(error)) return connectionError(codeOf(error), `NATS error: ${target}: ${text}`, KIND);
  return info('unknown', false, 'NATS_ERROR');
}

/** Nothing listens to the subject. The library takes it for a JetStream that is off; more often no stream holds the subject. */
export function isNoResponders(error: unknown): boolean {
  if (error instanceof RequestError) return error.isNoResponders();
  // A class that the library does not export.
  return error instanceof NoRespondersError || (error instanceof Error && error.name === 'JetStreamNotEnabled');
}

function apiFailure(
  error: JetStreamApiError,
  info: (kind: ErrorKind, retryable: boolean, code: string) => ErrorInfo,
): ErrorInfo {
  const { status, code } = error;
  const name = `JS_${code}`;
  if (status === 404) return info('not_found', false, name);
  return status >= 500 ? info('server_error', true, name) : info('client_error', false, name);
}

function isConnectionLost(error: unknown): boolean {
  return (
    error instanceof ConnectionError ||
    error instanceof ClosedConnectionError ||
    error instanceof DrainingConnectionError ||
    codeOf(error) !== undefined
  );
}

function codeOf(error: unknown): string | undefined {
  for (const one of [error, causeOf(error)])
    if (one instanceof Error && 'code' in one && typeof one.code === 'string') return one.code;
  return undefined;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

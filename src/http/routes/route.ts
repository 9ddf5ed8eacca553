import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { AccessContext } from '../../access/own-tokens.ts';
import type { Scope } from '../../access/scopes.ts';
import type { PlantStore } from '../../plants/port.ts';
import type { Runtime } from '../../runtime.ts';
import type { WebhooksContext } from '../../webhooks/operations.ts';
import type { SendParts } from '../admission/list-readers.ts';
import type { Cursors } from '../request/cursor.ts';
import type { Operation } from './operation.ts';

/** What the routes need. */
export type RouteContext = {
  access: AccessContext;
  plants: PlantStore;
  webhooks: WebhooksContext;
  /** The users whose plants a viewer may read. */
  visibleOwners(viewer: number): Promise<readonly number[]>;
  /** Sends a long list. */
  sendParts: SendParts;
  runtime: Runtime;
  /** The path of the public URL, without a trailing slash: the start of `Location` and `Link`. */
  basePath: string;
  cursors: Cursors;
  /** Aborted when the service begins to drain: new requests are refused, and event streams end. */
  drain: AbortSignal;
  /** The route of an operation, without its handler. */
  routeOf(operation: Operation): ReturnType<typeof routeOf>;
  /** Whether the token of a long-running request is still valid and has the scope. */
  stillAdmits(scope: Scope, request: FastifyRequest): Promise<boolean>;
};

const NO_QUERY = { type: 'object', properties: {}, additionalProperties: false };

/** @param onRequest admits only requests with a valid token that has the operation's scope */
export function routeOf({ method, url, query = NO_QUERY, body }: Operation, onRequest: onRequestHookHandler) {
  return { method, url, onRequest, schema: { querystring: query, ...(body && { body }) } };
}

/**
 * Makes the reply's payload JSON text. Fastify would add a charset, which application/json does not have (RFC 8259
 * §11).
 */
export function answerJson<Reply extends Pick<FastifyReply, 'header' | 'serializer'>>(reply: Reply): Reply {
  reply.header('content-type', 'application/json').serializer(asItIs);
  return reply;
}

function asItIs(payload: unknown): string {
  return String(payload);
}

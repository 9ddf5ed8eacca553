import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Scope } from '../../access/scopes.ts';
import type { PlantStore } from '../../plants/port.ts';
import type { Runtime } from '../../runtime.ts';
import type { WebhooksContext } from '../../webhooks/operations.ts';
import type { SendParts } from '../admission/list-readers.ts';
import type { Cursors } from '../request/cursor.ts';
import type { Operation } from './operation.ts';

/** What the routes work with. */
export type RouteContext = {
  plants: PlantStore;
  webhooks: WebhooksContext;
  /** Whose plants a viewer may read. */
  visibleOwners(viewer: number): Promise<readonly number[]>;
  /** Sends a long list. */
  sendParts: SendParts;
  runtime: Runtime;
  /** The path of the public URL, without a slash at its end: what `Location` and `Link` begin with. */
  basePath: string;
  cursors: Cursors;
  /** Aborted when the service begins to drain: what is new is refused, and streams of events end. */
  drain: AbortSignal;
  /** The route of an operation, to which only the handler has to be added. */
  routeOf(operation: Operation): ReturnType<typeof routeOf>;
  /** Whether the token of a request that goes on for long still counts, and has the scope. */
  stillAdmits(scope: Scope, request: FastifyRequest): Promise<boolean>;
};

const NO_QUERY = { type: 'object', properties: {}, additionalProperties: false };

/** @param onRequest lets through only requests whose token is good and has the operation's scope */
export function routeOf({ method, url, query = NO_QUERY, body }: Operation, onRequest: onRequestHookHandler) {
  return { method, url, onRequest, schema: { querystring: query, ...(body && { body }) } };
}

/**
 * Makes the reply one whose payload is JSON text. Fastify would add a charset, which application/json does
 * not have (RFC 8259 §11).
 */
export function answerJson<Reply extends Pick<FastifyReply, 'header' | 'serializer'>>(reply: Reply): Reply {
  reply.header('content-type', 'application/json').serializer(asItIs);
  return reply;
}

function asItIs(payload: unknown): string {
  return String(payload);
}

import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preValidationHookHandler,
  RouteGenericInterface,
} from 'fastify';
import type { Authenticate } from '../../access/authentication.ts';
import type { AccessContext } from '../../access/port.ts';
import type { PlantStore } from '../../plants/port.ts';
import type { Runtime } from '../../runtime.ts';
import type { WebhooksContext } from '../../webhooks/operations.ts';
import type { SendParts } from '../admission/list-readers.ts';
import { type Admission, requireScope } from '../request/authorization.ts';
import type { Cursors } from '../request/cursor.ts';
import type { Operation } from './operation.ts';

/** What the routes need. */
export type RouteContext = {
  access: AccessContext;
  plants: PlantStore;
  webhooks: WebhooksContext;
  /** Sends a long list. */
  sendParts: SendParts;
  runtime: Runtime;
  /** The path of the public URL, without a trailing slash: the start of `Location` and `Link`. */
  basePath: string;
  cursors: Cursors;
  /** Aborted when the service begins to drain: new requests are refused, and event streams end. */
  drain: AbortSignal;
  route: ReturnType<typeof routesOn>;
  /** For answers that may outlast their token. */
  authenticate: Authenticate;
};

/**
 * Returns a function that adds the route of an operation. Its `answer` is like a handler of Fastify, but a text that it
 * returns is sent as JSON.
 */
export function routesOn(app: FastifyInstance, admission: Admission) {
  return <Route extends RouteGenericInterface>(
    { method, url, scope, query = {}, body, success }: Operation,
    answer: (request: FastifyRequest<Route>, reply: FastifyReply) => Promise<unknown>,
    hooks: { preValidation?: preValidationHookHandler } = {},
  ): void => {
    app.route({
      ...hooks,
      method,
      url,
      onRequest: requireScope(admission, scope),
      schema: {
        querystring: { type: 'object', properties: query, additionalProperties: false },
        ...(body && { body }),
      },
      async handler(request, reply) {
        // The path and the schemas of the operation give it this form.
        const checked = request as FastifyRequest<Route>;
        const answered = await answer(checked, reply.code(success.status));
        if (typeof answered === 'string') answerJson(reply);
        return answered;
      },
    });
  };
}

/**
 * Makes the reply's payload JSON text. Fastify would add a charset, which application/json does not have (RFC 8259
 * §11).
 */
export function answerJson<Reply extends Pick<FastifyReply, 'header' | 'serializer'>>(reply: Reply): Reply {
  reply.header('content-type', 'application/json').serializer(String);
  return reply;
}

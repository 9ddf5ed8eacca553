import type { FastifyInstance, FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify';
import type { JSONSchema } from 'json-schema-to-ts';
import type { Authenticate } from '../../access/authentication.ts';
import type { AccessContext } from '../../access/port.ts';
import type { PlantStore } from '../../plants/port.ts';
import type { Runtime } from '../../runtime.ts';
import type { WebhooksContext } from '../../webhooks/operations.ts';
import type { SendParts } from '../admission/list-readers.ts';
import { type Admission, requireScope } from '../request/authorization.ts';
import { answerJson } from '../request/body.ts';
import type { Cursors } from '../request/cursor.ts';
import { answerOnce, type Post } from '../request/idempotency.ts';
import type { Operation, ValueOf, ValuesOf } from './operation.ts';

/** What the routes need. */
export type RouteContext = ReturnType<typeof routesOn> & {
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
  /** For answers that may outlast their token. */
  authenticate: Authenticate;
};

/** The form of a request that has passed the checks of its operation. */
export type RequestTo<Op extends Operation> = FastifyRequest<{
  Params: { [Name in keyof Op['path']]: string };
  Querystring: Op extends { query: infer Query extends Record<string, JSONSchema> }
    ? ValuesOf<Query>
    : unknown;
  Body: Op extends { body: infer Body extends JSONSchema } ? ValueOf<Body> : unknown;
}>;

export function routesOn(app: FastifyInstance, admission: Admission) {
  /**
   * Adds the route of an operation. `answer` is like a handler of Fastify, but a text that it returns is sent as JSON.
   */
  function route<Op extends Operation>(
    operation: Op,
    answer: (request: RequestTo<Op>, reply: FastifyReply) => Promise<unknown>,
    hooks: { preValidation?: preValidationHookHandler } = {},
  ): void {
    const { method, url, scope, query = {}, body, success } = operation;
    app.route({
      // The token may have ended while the body arrived, which its sender can draw out.
      ...(body && { preValidation: requireScope({ ...admission, countRequest: undefined }, scope) }),
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
        const checked = request as RequestTo<Op>;
        const answered = await answer(checked, reply.code(success.status));
        if (typeof answered === 'string') answerJson(reply);
        return answered;
      },
    });
  }

  /** Adds the route of a POST. */
  function post<Op extends Operation & { method: 'POST' }, Result>(
    operation: Op,
    answer: Post<RequestTo<Op>, Result>,
  ): void {
    route(operation, (request, reply) => answerOnce(request, reply, answer));
  }

  return { route, post };
}

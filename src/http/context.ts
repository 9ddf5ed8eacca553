import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Scope } from '../access/scopes.ts';
import type { PlantStore } from '../plants/port.ts';
import type { Runtime } from '../runtime.ts';
import type { WebhooksContext } from '../webhooks/operations.ts';
import type { Cursors } from './cursor.ts';
import type { SendParts } from './list-readers.ts';

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
  /** The hook that lets through only requests whose token is good and has the scope, if there is one. */
  requires(scope: Scope | undefined): onRequestHookHandler;
  /** Whether the token of a request that goes on for long still counts, and has the scope. */
  stillAdmits(scope: Scope, request: FastifyRequest): Promise<boolean>;
};

import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError, type ErrorCode, errorBody, statusOf } from '../../errors.ts';
import type { Caller, CallerFor, KeptAnswer, KeyStore, Once, PlannedAnswer } from '../../idempotency/port.ts';
import { idempotency as limits } from '../../limits.ts';
import type { Runtime } from '../../runtime.ts';
import { answerJson } from './body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while this is the request that runs under its Idempotency-Key. */
    keyed: Keyed | undefined;
  }
}

/** Plain data, because it goes to the thread that writes. */
type KeyedRequest = Omit<Once, 'answer'>;
type Keyed = {
  request: KeyedRequest;
  /** Frees the key after a success, whose answer was stored with its effect. */
  release(): void;
  /**
   * The same after a failure, whose answer is stored unless a retry may succeed. Resolves with the error that prevented
   * that, to be answered instead: a retry might not meet the failure again.
   */
  failed(failure: AppError): Promise<unknown>;
};

/**
 * Makes every POST to the routes registered after this call repeatable (draft-ietf-httpapi-idempotency-key-header).
 * The answer is stored together with the effect or, when there was none, before it is sent.
 */
export function acceptIdempotencyKeys(
  app: FastifyInstance,
  parts: { keys: KeyStore; runtime: Runtime },
): void {
  app.decorateRequest('keyed', undefined);
  const preValidation = beginner(parts);
  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('POST')) return;
    // After the route's own, which check the token again.
    route.preValidation = [...[route.preValidation ?? []].flat(), preValidation];
  });
}

/** The caller of a write and, of a POST, what will be answered when it succeeds. */
export function callerOf(request: FastifyRequest, answer?: () => PlannedAnswer): Caller {
  const { keyed } = request;
  const { socket } = request.raw;
  // A client that only closed its sending side may still wait, but most have left.
  return {
    user: request.principal.user.id,
    hasLeft: () => socket.destroyed || socket.readableEnded,
    once: keyed && answer && { ...keyed.request, answer: answer() },
    span: request.span,
  };
}

/** What a POST does, and how it answers with the result. */
export type Post<Request, Result> = {
  location?(result: Result): string;
  /** The body. What is kept for a retry lacks what is shown only once. */
  json(result: Result, isKept: boolean): string;
  /** Whether the answer contains a secret, so that nobody may cache it. */
  isSecret?: boolean;
  write(request: Request, callerFor: CallerFor<Result>): Promise<Result>;
};

/** Carries out a POST and sends its answer. */
export async function answerOnce<Request extends FastifyRequest, Result>(
  request: Request,
  reply: FastifyReply,
  { write, location, json, isSecret }: Post<Request, Result>,
): Promise<FastifyReply> {
  const answerOf = (result: Result, isKept: boolean) => ({
    status: reply.statusCode,
    location: location?.(result),
    body: json(result, isKept),
  });
  const result = await write(request, (planned) => callerOf(request, () => answerOf(planned, true)));
  if (isSecret) reply.header('cache-control', 'no-store');
  return sendAnswer(reply, answerOf(result, false));
}

/** Sends a stored answer. Every successful POST must use this, because it frees the key. */
export function sendAnswer(reply: FastifyReply, { status, location, body }: KeptAnswer): FastifyReply {
  reply.request.keyed?.release();
  if (location !== undefined) reply.header('location', location);
  return answerJson(reply.code(status)).send(body);
}

function beginner({ keys, runtime }: { keys: KeyStore; runtime: Runtime }) {
  /** User, key and path of running requests. */
  const running = new Set<string>();

  /** Makes this the request that runs under its key. */
  function enter(request: KeyedRequest): Keyed {
    const { user, key, path } = request;
    // A key has no line break, so two entries never have the same text.
    const entry = `${user}\n${key}\n${path}`;
    // Even if that is another request: only a record says what the key belongs to, and the running one may be refused.
    if (running.has(entry))
      throw new AppError(40901, 'A request with this Idempotency-Key is still running; retry in a moment.');
    running.add(entry);
    const release = () => void running.delete(entry);
    const failed = (failure: AppError) => keepFailure(request, failure).finally(release);
    return { request, release, failed };
  }

  async function keepFailure(request: KeyedRequest, { code, message, status }: AppError): Promise<unknown> {
    if (!isKept(code)) return undefined;
    const answer = { status, location: undefined, body: errorBody(code, message) };
    return keys.keepAnswer({ ...request, answer }).catch((error: unknown) => error);
  }

  async function begin(request: FastifyRequest, reply: FastifyReply, header: string): Promise<boolean> {
    const key = parseKey(header);
    if (key === undefined) throw new AppError(40006, `The Idempotency-Key must be ${KEY_RULE}.`);
    const keyed = keyedRequest(request, key, runtime.clock.now());
    // Checked before the running requests, which may be retries or use the key for something else.
    const record = await keys.keptAnswer(keyed, keyed.at);
    if (!record) {
      request.keyed = enter(keyed);
      return true;
    }
    if (record.fingerprint !== keyed.fingerprint) {
      throw new AppError(
        42200,
        'The Idempotency-Key was used for another request; use a new key for each request, and the same key for its retries.',
      );
    }
    // The stored answer may contain a secret.
    reply.header('idempotent-replayed', 'true').header('cache-control', 'no-store');
    if (record.status >= 400) throw keptFailure(record);
    sendAnswer(reply, record);
    return false;
  }

  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const header = request.headers['idempotency-key'];
    if (header === undefined) done();
    else begin(request, reply, String(header)).then((goesOn) => goesOn && done(), done);
  };
}

/** A stored failure, to be answered like any other: with an id to quote, and counted. */
function keptFailure({ body }: KeptAnswer): AppError {
  // `keepFailure` has stored it.
  const { error, message }: { error: ErrorCode; message: string } = JSON.parse(body);
  return new AppError(error, message);
}

/** The key in a header: an RFC 8941 §3.3.3 string, or the same without quotation marks. */
export function parseKey(header: string): string | undefined {
  const quoted = QUOTED.exec(header)?.[1]?.replaceAll(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(header) ? header : '');
  return key.length >= 1 && key.length <= limits.keyLength ? key : undefined;
}

const KEY_RULE = `1 to ${limits.keyLength} characters: a string in quotation marks, or a token without them`;
const QUOTED = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** The characters of a token (RFC 9110 §5.6.2), and further ones common in ids. */
const BARE = /^[\w!#$%&'*+.^`|~:/=@-]+$/;

/**
 * Excludes failures that may differ next time: those about the caller's identity, request rates, faults of the
 * service, and a faster process that has stored its own answer.
 */
function isKept(code: ErrorCode): boolean {
  const status = statusOf(code);
  return status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status) && code !== 40901;
}

function keyedRequest(request: FastifyRequest, key: string, at: number): KeyedRequest {
  return {
    user: request.principal.user.id,
    method: 'POST',
    path: pathOf(request),
    key,
    fingerprint: fingerprintOf(request),
    at,
    expiresAt: at + limits.keptMs,
  };
}

/** The path in one spelling, whatever was percent-encoded. */
function pathOf({ routeOptions, params }: FastifyRequest): string {
  // Path parameters are strings.
  const named = params as Record<string, string>;
  return (routeOptions.url ?? '').replaceAll(/:(\w+)/g, (_, name) => named[name] ?? '');
}

function fingerprintOf({ raw, body }: FastifyRequest): string {
  const search = raw.url?.split('?').slice(1).join('?') ?? '';
  return (
    createHash('sha256')
      .update(`${search}\n`)
      // Not validated yet: as received, and undefined when there was none.
      .update((body as Buffer | undefined) ?? '')
      .digest('hex')
  );
}

import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError } from '../../errors.ts';

/**
 * Answers requests that match no route, from the request line alone: OPTIONS with the methods of the path, an
 * unsupported method with 405, an unknown path with 404.
 * @param hint where to find the paths, as the rest of a sentence
 */
export function answerOtherPaths(app: FastifyInstance, hint: string): void {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.getOrInsertComputed(url, () => new Set(['OPTIONS']));
    for (const name of [method].flat()) known.add(name);
    // Every GET has a HEAD, and for a prefix with a trailing slash Fastify reports only HEAD.
    if (known.has('HEAD')) known.add('GET');
  });

  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    const url = request.raw.url ?? '';
    if (!request.is404 && !SUSPICIOUS.test(url)) return done();
    const [path = ''] = url.split('?', 1);
    if (!request.is404 && isCanonical(path, request.routeOptions.url)) return done();
    const allowed = allowedMethods(methods, path);
    if (!allowed) return done(notFound(hint));
    const allow = [...allowed].sort().join(', ');
    if (request.method === 'OPTIONS') reply.code(204).header('allow', allow).send();
    else {
      const message = `The path does not support ${request.method}; it supports ${allow}.`;
      done(new AppError(40500, message, { headers: { allow } }));
    }
  });
  // For missing files of the docs page: their route exists, they do not.
  app.setNotFoundHandler(() => {
    throw notFound(hint);
  });
}

function notFound(hint: string): AppError {
  return new AppError(40400, `There is no such path; ${hint}.`);
}

/** Matches every target that `isCanonical` may refuse and passes most others quickly. */
const SUSPICIOUS = /^\*|\/(?:$|[?.%])/;

/**
 * The router would accept `/plants/` as a plant without an id, dot segments (RFC 3986 §5.2.4) in any spelling as ids,
 * and `*` as the root.
 */
function isCanonical(path: string, route = ''): boolean {
  if (path.endsWith('/') && route.includes(':')) return false;
  return path !== '*' && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path);
}

function allowedMethods(methods: Map<string, Set<string>>, path: string): Set<string> | undefined {
  if (path === '*') return new Set([...methods.values()].flatMap((known) => [...known]));
  if (!isCanonical(path)) return undefined;
  // As the router compares them: `%2F` separates nothing. It has refused broken escapes.
  const segments = path.split('/').map((segment) => decodeURIComponent(segment));
  for (const [pattern, known] of methods) {
    if (matches(pattern.split('/'), segments)) return known;
  }
  return undefined;
}

/** A parameter needs a value, and `*`, always the last part, takes all that is left. */
function matches(parts: string[], segments: string[]): boolean {
  const isLong = parts.at(-1) === '*' && segments.length > parts.length;
  return (
    (isLong || segments.length === parts.length) &&
    parts.every((part, i) => part === segments[i] || part === '*' || (part.startsWith(':') && segments[i]))
  );
}

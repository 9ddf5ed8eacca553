import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

/**
 * Answers what no route matches: OPTIONS with the methods of the path, another method that the path does not
 * have with 405, and an unknown path with 404.
 */
export function answerOtherMethods(app: FastifyInstance): void {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set(['OPTIONS']);
    for (const name of [method].flat()) known.add(name);
    methods.set(url, known);
  });

  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const allowed = allowedMethods(methods, request.raw.url ?? '');
    if (!allowed) throw new AppError(40400, 'There is no such path; the paths are listed at /docs.');
    const allow = [...allowed].sort().join(', ');
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send();
    throw new AppError(40500, `The path has no method ${request.method}; it has ${allow}.`, {
      headers: { allow },
    });
  });
}

function allowedMethods(methods: Map<string, Set<string>>, url: string): Set<string> | undefined {
  if (url === '*') return new Set([...methods.values()].flatMap((known) => [...known]));
  const path = (url.split('?', 1)[0] ?? '').split('/');
  for (const [pattern, known] of methods) {
    const parts = pattern.split('/');
    const same = parts.every((part, i) => part === path[i] || (part.startsWith(':') && isName(path[i])));
    if (same && parts.length === path.length) return known;
  }
  return undefined;
}

/** A segment that can stand for a parameter: not an empty one, and not a dot segment. */
function isName(segment: string | undefined): boolean {
  return segment !== undefined && !/^(?:\.|%2e){0,2}$/i.test(segment);
}

import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { packageFolder } from '../../config/package.ts';
import { AppError } from '../../errors.ts';

/** The policy of all our pages: no inline code, and nothing from other servers. */
const STRICT = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** For the interactive reference, whose library sets style attributes. */
const REFERENCE = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/**
 * The console at `/console`, the documentation at `/docs`, and the interactive reference at `/docs/api`.
 * `npm run prepare` builds them.
 */
export async function serveSites(app: FastifyInstance, basePath: string): Promise<void> {
  const console = { path: '/console', folder: built('console') };
  const docs = { path: '/docs', folder: built('docs') };
  const talksToTheApi = ["script-src 'self'", "connect-src 'self'", "require-trusted-types-for 'script'"];
  await serveSite(app, { ...console, policy: [...STRICT, ...talksToTheApi] }, basePath);
  await serveSite(app, { ...docs, policy: [...STRICT, "script-src 'self'", "connect-src 'self'"] }, basePath);
  await serveSite(app, { path: '/docs/api', folder: built('docs/api'), policy: REFERENCE }, basePath);
}

function built(name: string): string {
  return join(packageFolder, 'build', name);
}

export type Site = {
  /** Its path, such as `/console`. Its pages are below it and link to each other by relative URLs. */
  path: string;
  /** The folder of built files. Those in `assets/` have a hash in their name, so they never change. */
  folder: string;
  /** The directives of the Content-Security-Policy. */
  policy: readonly string[];
};

/** Serves built files. If a file `x` has a sibling `x.br` or `x.gz`, clients that accept it get that. */
export async function serveSite(
  app: FastifyInstance,
  { path, folder, policy }: Site,
  basePath: string,
): Promise<void> {
  app.get(path, (_request, reply) => reply.redirect(`${basePath}${path}/`));
  if (!existsSync(join(folder, 'index.html'))) return answerNotBuilt(app, path);
  await app.register(async (scope) => {
    applyPageRules(scope, policy);
    await scope.register(fastifyStatic, {
      root: folder,
      prefix: `${path}/`,
      preCompressed: true,
      dotfiles: 'ignore',
      setHeaders(reply, file) {
        const isHashed = file.startsWith(join(folder, 'assets') + sep);
        reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      },
    });
    // A separate route, so that its methods are known.
    scope.get(`${path}/`, (_request, reply) => reply.sendFile('index.html'));
  });
}

function answerNotBuilt(app: FastifyInstance, path: string): void {
  app.get(`${path}/`, () => {
    throw new AppError(40400, 'This page is not built. In a checkout "npm run prepare" builds it.');
  });
}

/** The rules for every page and file of this scope, in addition to the Content-Security-Policy of its pages. */
export function applyPageRules(scope: FastifyInstance, policy: readonly string[]): void {
  const joined = policy.join('; ');
  scope.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('content-security-policy', joined);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('referrer-policy', 'no-referrer');
    done(null, payload);
  });
  // The error catalogue has no codes for conditions and ranges, and the files are small.
  scope.addHook('onRequest', (request, _reply, done) => {
    for (const name of ['if-match', 'if-unmodified-since', 'range']) delete request.headers[name];
    done();
  });
  const answerFailure = scope.errorHandler;
  scope.setErrorHandler((error, request, reply) => {
    const isMissing = error instanceof Error && 'statusCode' in error && error.statusCode !== 500;
    answerFailure(isMissing ? new AppError(40400) : error, request, reply);
  });
}

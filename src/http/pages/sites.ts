import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { packageFolder } from '../../config/package.ts';
import { AppError } from '../../errors.ts';

/** The policy of all pages: no inline code, and nothing from other servers. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** The console at `/console` and the documentation at `/docs`. `npm run prepare` builds them. */
export async function serveSites(app: FastifyInstance, basePath: string): Promise<void> {
  for (const name of ['console', 'docs']) {
    await serveSite(app, { path: `/${name}`, folder: join(packageFolder, 'build', name) }, basePath);
  }
  // Links on the page are relative to the folder.
  app.get('/docs/api', (_request, reply) => reply.redirect(`${basePath}/docs/api/`));
}

export type Site = {
  /** Its path, such as `/console`. Its pages are below it and link to each other by relative URLs. */
  path: string;
  /** The folder of built files. Those in `assets/` have a hash in their name, so they never change. */
  folder: string;
};

/**
 * Serves built files. If a file `x` has a sibling `x.br` or `x.gz`, clients that accept it get that. A page `x.html` is
 * also `x`.
 */
export async function serveSite(
  app: FastifyInstance,
  { path, folder }: Site,
  basePath: string,
): Promise<void> {
  app.get(path, (_request, reply) => reply.redirect(`${basePath}${path}/`));
  if (!existsSync(join(folder, 'index.html'))) return answerNotBuilt(app, path);
  await app.register(async (scope) => {
    applyPageRules(scope);
    await scope.register(fastifyStatic, {
      root: folder,
      prefix: `${path}/`,
      preCompressed: true,
      extensions: ['html'],
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

/** The rules for every page and file of this scope. */
function applyPageRules(scope: FastifyInstance): void {
  scope.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('content-security-policy', POLICY);
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

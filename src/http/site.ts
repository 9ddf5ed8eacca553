import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { applyPageRules } from './page-rules.ts';

export type Site = {
  /** Where it is, such as `/console`. Its pages stand under it, and refer to each other by relative URLs. */
  path: string;
  /** The built files. Those in `assets/` have a hash in their name, so they never change. */
  folder: string;
  /** The directives of the Content-Security-Policy. */
  policy: readonly string[];
};

/** Serves built files; a file `x.br` or `x.gz` beside `x` is what a client that takes it gets. */
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
    // A route of its own, so that it is known which methods it has.
    scope.get(`${path}/`, (_request, reply) => reply.sendFile('index.html'));
  });
}

function answerNotBuilt(app: FastifyInstance, path: string): void {
  app.get(`${path}/`, () => {
    throw new AppError(40400, 'This page is not built. In a checkout "npm run prepare" builds it.');
  });
}

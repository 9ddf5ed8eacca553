import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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

/**
 * Serves built files. A page `x.html` is also `x`, and the `index.html` of a folder is also the folder.
 * @param path such as `/console`; the pages are below it and link to each other by relative URLs
 * @param folder where the files are; those in `assets/` have a hash in their name, so they never change
 */
export async function serveSite(
  app: FastifyInstance,
  { path, folder }: { path: string; folder: string },
  basePath: string,
): Promise<void> {
  app.get(path, (_request, reply) => reply.redirect(`${basePath}${path}/`));
  if (!existsSync(join(folder, 'index.html'))) {
    app.get(`${path}/`, () => {
      throw new AppError(40400, 'This page is not built. In a checkout "npm run prepare" builds it.');
    });
    return;
  }
  await app.register(async (scope) => {
    applyPageRules(scope);
    // A separate route, so that its methods are known.
    scope.get(`${path}/`, (request, reply) => sendFile(request, reply, folder, 'index.html'));
    scope.get<{ Params: { '*': string } }>(`${path}/*`, (request, reply) => {
      const name = request.params['*'];
      const file = name.endsWith('/') ? `${name}index.html` : extname(name) ? name : `${name}.html`;
      return sendFile(request, reply, folder, file);
    });
  });
}

/** A file and, beside it, the same compressed. The first that the client accepts is sent. */
const ENDINGS = { br: '.br', gzip: '.gz', identity: '' };

async function sendFile(request: FastifyRequest, reply: FastifyReply, folder: string, name: string) {
  // Loaded with the first page, because the API does not need it.
  const { default: send } = await import('@fastify/send');
  const type = send.mime.getType(name) ?? 'application/octet-stream';
  for (const [encoding, ending] of Object.entries(ENDINGS)) {
    if (encoding !== 'identity' && !isAccepted(request, encoding)) continue;
    const found = await send(request.raw, encodeURI(`${name}${ending}`), {
      root: folder,
      dotfiles: 'ignore',
      index: false,
      acceptRanges: false,
      cacheControl: false,
      contentType: false,
    });
    if (found.type === 'error' && found.statusCode === 500) throw found.metadata.error;
    if (found.type !== 'file') continue;
    const isHashed = name.startsWith('assets/');
    reply.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
    reply.header('content-type', send.isUtf8MimeType(type) ? `${type}; charset=utf-8` : type);
    // With CORS it already names the origin.
    reply.header('vary', [reply.getHeader('vary'), 'accept-encoding'].filter(Boolean).join(', '));
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return reply.code(found.statusCode).headers(found.headers).send(found.stream);
  }
  throw new AppError(40400);
}

/** Whether the field accepts the encoding by its name (RFC 9110, section 12.5.3). */
function isAccepted({ headers }: FastifyRequest, encoding: string): boolean {
  const fields = String(headers['accept-encoding'] ?? '').toLowerCase();
  return fields.split(',').some((field) => {
    const [name = '', weight = ''] = field.split(';');
    return name.trim() === encoding && !/^\s*q=0(?:\.0*)?\s*$/.test(weight);
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
  // The error catalogue has no code for failed conditions.
  scope.addHook('onRequest', (request, _reply, done) => {
    for (const name of ['if-match', 'if-unmodified-since']) delete request.headers[name];
    done();
  });
}

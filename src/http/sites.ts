import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { packageFolder } from '../package.ts';
import { serveSite } from './site.ts';

/** What every page of ours keeps to: nothing inline, and nothing but what this service itself serves. */
const STRICT = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** The console at `/console`, and the documentation at `/docs`. `npm run prepare` builds both. */
export async function serveSites(app: FastifyInstance, basePath: string): Promise<void> {
  const console = { path: '/console', folder: built('console') };
  const docs = { path: '/docs', folder: built('docs') };
  const talksToTheApi = ["script-src 'self'", "connect-src 'self'", "require-trusted-types-for 'script'"];
  await serveSite(app, { ...console, policy: [...STRICT, ...talksToTheApi] }, basePath);
  await serveSite(app, { ...docs, policy: [...STRICT, "script-src 'self'", "connect-src 'self'"] }, basePath);
}

function built(name: string): string {
  return join(packageFolder, 'build', name);
}

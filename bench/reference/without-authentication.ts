import type { onRequestHookHandler } from 'fastify';
import type { Principal } from '../../src/access/authentication.ts';
import { scopes } from '../../src/access/scopes.ts';
import { replaceModule } from './replace-module.ts';

/**
 * The service without authentication; load it first (`--import`). This module replaces
 * `src/http/request/authorization.ts`, so that no header is read and no token looked up: each request acts for the
 * first user. Everything else is unchanged.
 */

export * from '../../src/http/request/authorization.ts';

replaceModule('src/http/request/authorization.ts', import.meta.url);

/** The user `admin` of a new store. */
const everybody: Principal = {
  user: { id: 1, name: 'admin' },
  token: undefined,
  scopes: new Set(scopes),
  expiresAt: Infinity,
  refusedFrom: Infinity,
  countedAs: 'everybody',
};

/** Replaces the hook that checks the token. */
export function requireScope(): onRequestHookHandler {
  return (request, _reply, done) => {
    request.principal = everybody;
    done();
  };
}

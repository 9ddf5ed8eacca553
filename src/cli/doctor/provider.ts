import { createKeySource } from '../../access/jwt-documents.ts';
import type { Config } from '../../config/config.ts';
import { checks as limits } from '../limits.ts';
import { type Finding, ok, reasonIn, warning } from './check.ts';

/** Whether the identity provider gives its keys, if there is one. */
export async function checkProvider({ jwtIssuer, jwtJwksUrl }: Config): Promise<Finding[]> {
  if (jwtIssuer === undefined) return [];
  const name = 'Identity provider';
  const location = { issuer: jwtIssuer, jwksUrl: jwtJwksUrl };
  try {
    const { keys } = await createKeySource(location, new AbortController().signal, limits.answerMs)();
    const count = Array.isArray(keys) ? keys.length : 0;
    if (count > 0) return [ok(name, `${jwtIssuer} gives ${count} ${count === 1 ? 'key' : 'keys'}`)];
    return [
      warning(
        name,
        `${jwtIssuer} gives no keys`,
        'No JWT is accepted: look at the provider, and JWT_JWKS_URL.',
      ),
    ];
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    const reason = reasonIn(cause instanceof Error && cause.message !== '' ? cause : error);
    const advice =
      'No JWT is accepted after a restart: see JWT_ISSUER, JWT_JWKS_URL, and that this machine reaches the provider.';
    return [warning(name, `${jwtIssuer} does not give its keys: ${reason}`, advice)];
  }
}

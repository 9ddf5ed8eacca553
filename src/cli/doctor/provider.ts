import { createKeySource } from '../../access/jwt-documents.ts';
import type { Config } from '../../config/config.ts';
import { checks as limits } from '../limits.ts';
import { type Finding, ok, reasonIn, warning } from './check.ts';

export async function checkProvider({ jwtIssuer, jwtJwksUrl }: Config): Promise<Finding[]> {
  if (jwtIssuer === undefined) return [];
  const name = 'Identity provider';
  const location = { issuer: jwtIssuer, jwksUrl: jwtJwksUrl };
  try {
    const { keys } = await createKeySource(location, new AbortController().signal, limits.answerMs)();
    const count = Array.isArray(keys) ? keys.length : 0;
    if (count > 0) return [ok(name, `${jwtIssuer} serves ${count} ${count === 1 ? 'key' : 'keys'}`)];
    return [
      warning(
        name,
        `${jwtIssuer} serves no keys`,
        'No JWT is accepted: check the provider and JWT_JWKS_URL.',
      ),
    ];
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    const reason = reasonIn(cause instanceof Error && cause.message !== '' ? cause : error);
    const advice =
      'After a restart no JWT is accepted: check JWT_ISSUER, JWT_JWKS_URL and the connection to the provider.';
    return [warning(name, `${jwtIssuer} does not serve its keys: ${reason}`, advice)];
  }
}

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { scopes } from '../../src/access/scopes.ts';
import { freePort } from '../sockets/free-port.ts';

/** A real OpenID provider on loopback, whose clients are users: each gets tokens for itself. */
export type IdentityProvider = {
  issuer: string;
  /** Settings with which the service takes its tokens. */
  settings: Record<string, string>;
  /** A token of this user from the token endpoint (client credentials grant). */
  token(user: string, options?: TokenOptions): Promise<string>;
  /** A token that the provider would not issue, signed with its key. */
  sign(claims: Claims, header?: Record<string, unknown>): Promise<string>;
  /** Claims of a token that is as it should be, with these changes; undefined takes a claim away. */
  claims(changes?: Claims): Claims;
  /** Its keys, as it publishes them. */
  keys(): JWK[];
  /** The paths that were asked for, without those of the token endpoint. */
  asked(): string[];
  /** Signs with new keys from now on; the old ones are still published, or not. */
  rotate(old: 'published' | 'withdrawn'): Promise<void>;
  /** Answers with this text where its keys should be, until it rotates. */
  publish(text: string): void;
  /** Nothing listens at its port any more. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
};

export type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
export type TokenOptions = { scope?: string; alg?: Algorithm };
export type Claims = Record<string, unknown>;

export const AUDIENCE = 'https://plants.example.org';
const SCOPES = scopes.join(' ');
const SECRET = 'a-secret-of-a-client';
const LIFETIME_SECONDS = 600;

export async function startIdentityProvider(users: readonly string[] = ['ann']): Promise<IdentityProvider> {
  let generation = 1;
  let signing = await createKeys(generation);
  let published = signing;
  let serve: RequestListener = () => {};
  let paths: string[] = [];
  const server = createServer((request, response) => {
    if (request.url !== '/token') paths.push(request.url ?? '');
    serve(request, response);
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const down = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };

  // No other server gets it between `down` and `up`.
  const port = await freePort();
  await listen(port);
  const issuer = `http://127.0.0.1:${port}`;
  serve = await openProvider(issuer, published, users);

  return {
    issuer,
    settings: { JWT_ISSUER: issuer, JWT_AUDIENCE: AUDIENCE },
    token: (user, options = {}) => requestToken(issuer, user, options),
    sign: (claims, header = {}) => sign(signing, claims, header),
    claims: (changes = {}) => ({ ...goodClaims(issuer), ...changes }),
    keys: () => published.map(toPublic),
    asked: () => paths,
    async rotate(old) {
      signing = await createKeys(++generation);
      // The provider signs with the first key that fits.
      published = old === 'published' ? [...signing, ...published] : signing;
      serve = await openProvider(issuer, published, users);
      paths = [];
    },
    publish(text) {
      const others = serve;
      serve = (request, response) => {
        if (request.url === '/jwks') response.end(text);
        else others(request, response);
      };
    },
    down,
    up: () => listen(port),
    stop: down,
  };
}

/** One for each kind, the one of RSA without an algorithm: it serves RS256 and PS256. */
async function createKeys(generation: number): Promise<JWK[]> {
  const kinds = ['RS256', 'ES256', 'EdDSA'] as const;
  return Promise.all(
    kinds.map(async (alg) => {
      const { privateKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = { ...(await exportJWK(privateKey)), kid: `${alg}-${generation}`, use: 'sig' };
      return alg === 'RS256' ? jwk : { ...jwk, alg };
    }),
  );
}

function toPublic({ d, p, q, dp, dq, qi, ...rest }: JWK): JWK {
  return rest;
}

async function openProvider(issuer: string, keys: JWK[], users: readonly string[]): Promise<RequestListener> {
  return quietly(async () => {
    const { Provider } = await import('oidc-provider');
    return new Provider(issuer, configuration(keys, users)).callback();
  });
}

function configuration(keys: JWK[], users: readonly string[]): object {
  return {
    jwks: { keys },
    clients: users.map((user) => ({
      client_id: user,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    scopes: SCOPES.split(' '),
    ttl: { ClientCredentials: LIFETIME_SECONDS },
    extraTokenClaims: (_context: unknown, { clientId }: { clientId: string }) => ({
      preferred_username: `${clientId} of the garden`,
    }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: SCOPES,
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: resource.slice('urn:'.length) } },
        }),
      },
    },
  };
}

/** Without the provider's advice for those who run it in earnest. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { info, warn } = console;
  console.info = console.warn = () => {};
  try {
    return await work();
  } finally {
    Object.assign(console, { info, warn });
  }
}

async function requestToken(issuer: string, user: string, options: TokenOptions): Promise<string> {
  const { scope = SCOPES, alg = 'ES256' } = options;
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${encodeURIComponent(user)}:${SECRET}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: `urn:${alg}`, scope }),
  });
  // The answer of RFC 6749 §5.1.
  const body = (await response.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(JSON.stringify(body));
  return body.access_token;
}

async function sign(keys: JWK[], claims: Claims, header: Record<string, unknown>): Promise<string> {
  const alg = String(header.alg ?? 'ES256');
  const jwk = keys.find(({ kid = '' }) => kid.startsWith(alg.replace('PS', 'RS')));
  if (!jwk) throw new Error(`no key for ${alg}`);
  const key = await importJWK(jwk, alg);
  // Wrong claims are what it is for, and the signer looks at none of them.
  return new SignJWT(claims as JWTPayload)
    .setProtectedHeader({ alg, kid: jwk.kid ?? '', ...header })
    .sign(key);
}

function goodClaims(issuer: string): Claims {
  const exp = Math.floor(Date.now() / 1000) + LIFETIME_SECONDS;
  return { iss: issuer, aud: AUDIENCE, sub: 'ann', scope: SCOPES, exp };
}

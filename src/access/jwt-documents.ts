import type { JSONWebKeySet } from 'jose';
import { identityProvider as limits } from '../limits.ts';

export type IdentityProviderLocation = {
  /** As its tokens spell it. */
  issuer: string;
  /** Undefined: the issuer's discovery document names it. */
  jwksUrl: string | undefined;
};

/**
 * Asks the identity provider for its keys, through its discovery document (OpenID Connect Discovery 1.0 §4) unless
 * it is known where they are. Where they are is asked once, and again after a failure. The answer is as it came.
 *
 * Rejects when the provider cannot be reached, is too slow, or says something else than it should.
 */
export function createKeySource(
  { issuer, jwksUrl }: IdentityProviderLocation,
  stopped: AbortSignal,
  deadlineMs: number = limits.fetchMs,
): () => Promise<JSONWebKeySet> {
  let discovered: string | undefined;

  return async () => {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(deadlineMs)]);
    const url = jwksUrl ?? discovered ?? (await discover(issuer, signal));
    discovered = undefined;
    const keys = await fetchObject(url, signal);
    discovered = url;
    // `createLocalJWKSet` looks at every part of it that this type promises.
    return keys as unknown as JSONWebKeySet;
  };
}

async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = discoveryUrl(issuer);
  const document = await fetchObject(url, signal);
  // Else the provider of one issuer could speak for another (OpenID Connect Discovery 1.0 §4.3).
  if (document.issuer !== issuer) {
    throw new Error(`${url} is of the issuer ${JSON.stringify(document.issuer)}, not ${issuer}`);
  }
  const found = typeof document.jwks_uri === 'string' ? URL.parse(document.jwks_uri) : null;
  const isSafe = found?.protocol === 'https:' || (found?.protocol === 'http:' && issuer.startsWith('http:'));
  if (!found || !isSafe) throw new Error(`${url} names no jwks_uri that is as safe as the issuer`);
  return found.href;
}

/** A slash at the issuer's end is not doubled. */
function discoveryUrl(issuer: string): string {
  const url = new URL(issuer);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return url.href;
}

/** Follows no redirect: it would lead to somebody whom the operator did not name. */
async function fetchObject(url: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered with the status ${response.status}`);
  }
  const text = await readText(response, url);
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error(`${url} did not answer with an object`);
  return { ...value };
}

async function readText(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.documentBytes)
      throw new Error(`${url} answered with more than ${limits.documentBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

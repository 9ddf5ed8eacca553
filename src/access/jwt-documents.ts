import type { JSONWebKeySet } from 'jose';
import { identityProvider as limits } from '../limits.ts';

export type IdentityProviderLocation = {
  /** As its tokens spell it. */
  issuer: string;
  /** Undefined: read from the issuer's discovery document. */
  jwksUrl: string | undefined;
};

/**
 * Asks the identity provider for its keys. Without `jwksUrl`, it finds them through the discovery document (OpenID
 * Connect Discovery 1.0 §4), which it reads once, and again after a failure. The answer is unchanged. Rejects when
 * the provider cannot be reached, is too slow, or sends an invalid document.
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
    // `createLocalJWKSet` checks every part that this type promises.
    return keys as unknown as JSONWebKeySet;
  };
}

async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = discoveryUrl(issuer);
  const document = await fetchObject(url, signal);
  // Otherwise one issuer's provider could speak for another (OpenID Connect Discovery 1.0 §4.3).
  if (document.issuer !== issuer) {
    const named = JSON.stringify(document.issuer)?.slice(0, limits.shownIssuer);
    throw new Error(`${url} names the issuer ${named}, not ${issuer}`);
  }
  const found = typeof document.jwks_uri === 'string' ? URL.parse(document.jwks_uri) : null;
  const isSafe = found?.protocol === 'https:' || (found?.protocol === 'http:' && issuer.startsWith('http:'));
  if (!found || !isSafe) throw new Error(`${url} names no jwks_uri as secure as the issuer`);
  return found.href;
}

/** Does not double a slash at the end of the issuer. */
function discoveryUrl(issuer: string): string {
  const url = new URL(issuer);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return url.href;
}

/**
 * Follows no redirect: it could lead to a host that the operator did not name. Each error names the URL, since a setting
 * or the discovery document may have a wrong one.
 */
async function fetchObject(url: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const refuse = (cause: unknown) => {
    throw new Error(`${url} did not answer`, { cause });
  };
  const headers = { accept: 'application/json' };
  const response = await fetch(url, { signal, redirect: 'manual', headers }).catch(refuse);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} returned status ${response.status}`);
  }
  const text = await readText(response).catch(refuse);
  if (text === undefined) throw new Error(`${url} returned more than ${limits.documentBytes} bytes`);
  const value = parseJson(text, url);
  if (typeof value !== 'object' || value === null) throw new Error(`${url} did not return an object`);
  return { ...value };
}

function parseJson(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} did not return JSON`);
  }
}

/** Resolves with undefined when there is too much. */
async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.documentBytes) return undefined;
    chunks.push(chunk);
  }
  // Skips a byte order mark, as clients of identity providers usually do.
  return new TextDecoder().decode(Buffer.concat(chunks));
}

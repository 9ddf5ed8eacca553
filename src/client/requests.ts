import { jsonOf, refused, unanswered } from './answers.ts';
import { linkedTo, within } from './deadlines.ts';
import { retried, retriesOf } from './retries.ts';

export type PlantStoreOptions = {
  /** Where the service is, its base path included. `http://127.0.0.1:3000` when absent. */
  url?: string | URL | undefined;
  /** An access token, or what gives one: asked anew for every attempt. What it throws, the call throws. */
  token: string | (() => string | Promise<string>);
  /** Sends instead of the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** How long one attempt may take, from its token to the end of its answer. 30 000 when absent. */
  timeoutMs?: number | undefined;
  /** Attempts after the first one. 4 when absent, which is about 3 seconds; 0 for none. */
  retries?: number | undefined;
};

export type CallOptions = {
  /** Ends the request, its waits and its retries: the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
};

export type KeyedOptions = CallOptions & {
  /** Makes calls with equal arguments count as one for 24 hours. A random one when absent. */
  idempotencyKey?: string | undefined;
};

export type ApiRequest = KeyedOptions & {
  /** GET when absent. */
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Its parts behind the base path, as they are before they are encoded. */
  path: readonly string[];
  /** Its parameters; what is undefined is left out. */
  query?: Record<string, unknown>;
  /** JSON text: the retries send the same bytes, which the service compares. */
  body?: string;
  headers?: Record<string, string>;
};

export type ApiAnswer<Body> = { body: Body; headers: Headers };

/** What all operations are made of. */
export type Requests = {
  /** Where the service is, without a slash at its end. */
  base: string;
  timeoutMs: number;
  retries: number;
  /** Sends until there is an answer that stays, and reads it. `Body` is what the operation documents. */
  send<Body>(request: ApiRequest): Promise<ApiAnswer<Body>>;
  /** The same for whom the body is all. */
  read<Body>(request: ApiRequest): Promise<Body>;
  /** Sends once. Resolves with the head of a 2xx answer. */
  open(request: ApiRequest): Promise<Response>;
};

/** @throws TypeError when the URL is none, or neither of http nor of https */
export function createRequests(options: PlantStoreOptions): Requests {
  const { url = 'http://127.0.0.1:3000', timeoutMs = 30_000, retries = 4 } = options;
  const { origin, pathname, protocol } = new URL(url);
  // "localhost:3000" is a URL as well, of the scheme "localhost".
  if (!/^https?:$/.test(protocol))
    throw new TypeError(`url must begin with http:// or https://; ${url} does not.`);
  const base = origin + pathname.replace(/\/+$/, '');
  const open = opener(base, options);

  function send<Body>(request: ApiRequest): Promise<ApiAnswer<Body>> {
    const { method, signal, idempotencyKey = method === 'POST' ? randomKey() : undefined } = request;
    return retried(() => attempt<Body>({ ...request, idempotencyKey }, { base, timeoutMs, open }), {
      waitAfter: retriesOf(retries),
      signal,
      // A DELETE is answered without a body.
      gone: method === 'DELETE' ? { body: undefined as Body, headers: new Headers() } : undefined,
    });
  }

  return {
    base,
    timeoutMs,
    retries,
    open,
    send,
    read: async <Body>(request: ApiRequest) => (await send<Body>(request)).body,
  };
}

function opener(base: string, { token, fetch = globalThis.fetch }: PlantStoreOptions): Requests['open'] {
  return async ({ method = 'GET', path, query, body, headers, idempotencyKey, signal = null }) => {
    const target = pathOf(path) + queryOf(query);
    const fields = new Headers({ accept: 'application/json', ...headers });
    fields.set('authorization', bearer(typeof token === 'function' ? await token() : token));
    if (body !== undefined) fields.set('content-type', 'application/json');
    if (idempotencyKey !== undefined) fields.set('idempotency-key', quoted(idempotencyKey));
    // The call may have ended while the token was waited for.
    signal?.throwIfAborted();
    // The token goes to the place that was named, and to no other.
    const init: RequestInit = { method, headers: fields, body: body ?? null, signal, redirect: 'manual' };
    const response = await fetch(base + target, init).catch((cause) => {
      throw unanswered(base, cause);
    });
    if (response.ok) return response;
    throw await refused(base, target, response);
  };
}

async function attempt<Body>(
  request: ApiRequest,
  { base, timeoutMs, open }: Pick<Requests, 'base' | 'timeoutMs' | 'open'>,
): Promise<ApiAnswer<Body>> {
  const { ending, unlink } = linkedTo(request.signal);
  try {
    return await within(timeoutMs, ending, `${base} did not answer within ${timeoutMs} ms.`, async () => {
      const response = await open({ ...request, signal: ending.signal });
      // The service answers by its OpenAPI document, which the types of the operations are made from.
      return { body: (await jsonOf(base, response)) as Body, headers: response.headers };
    });
  } finally {
    unlink();
  }
}

/** @throws TypeError for a part that no id is: a URL takes "." and ".." for steps, so that something else is asked for */
function pathOf(parts: readonly string[]): string {
  return parts
    .map((part) => {
      if (/^\.{0,2}$/.test(part)) throw new TypeError(`No id is "${part}".`);
      return `/${encodeURIComponent(part)}`;
    })
    .join('');
}

/** The query of the parameters that are given, with its question mark. */
function queryOf(parameters: Record<string, unknown> = {}): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}

/** @throws TypeError for what no header holds; the one of `Headers` would show the token */
function bearer(token: string): string {
  // The line break at the end of a file is none of its token.
  const text = token.trim();
  if (/[^\x20-\x7e]/.test(text))
    throw new TypeError('The token has a line break in it, or what is not ASCII.');
  return `Bearer ${text}`;
}

/** A string of RFC 8941 §3.3.3, so that a key may have any printable character of ASCII. */
function quoted(key: string): string {
  return `"${key.replace(/["\\]/g, '\\$&')}"`;
}

/** Not `randomUUID`, which pages have over https only. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
}

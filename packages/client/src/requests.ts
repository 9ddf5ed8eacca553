import { jsonOf, refused, unanswered } from './answers.ts';
import { linkedTo, within } from './deadlines.ts';
import { integerText } from './json.ts';
import { retried, retriesOf, type WaitAfter } from './retries.ts';

export type PlantStoreOptions = {
  /** The URL of the service, including its base path. By default `http://127.0.0.1:3000`. */
  url?: string | URL | undefined;
  /** An access token, or a function that returns one, called for every attempt. If it throws, so does the call. */
  token: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** How long one attempt may take, from its token to the end of its response. By default 30 000. */
  timeoutMs?: number | undefined;
  /** Attempts after the first one. By default 4, which takes about 3 seconds; 0 for none. */
  retries?: number | undefined;
};

export type CallOptions = {
  /** Ends the request, its waits and its retries: the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
};

export type KeyedOptions = CallOptions & {
  /** Makes calls with equal arguments count as one for 24 hours. By default random. */
  idempotencyKey?: string | undefined;
};

export type ApiRequest = KeyedOptions & {
  /** By default GET. */
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The segments after the base path, not yet encoded. */
  path: readonly string[];
  /** The parameters; undefined ones are left out. */
  query?: Record<string, unknown>;
  /** JSON text: retries send the same bytes, which the service compares. */
  body?: string;
  headers?: Record<string, string>;
};

export type ApiAnswer<Body> = { body: Body; headers: Headers };

export type Requests = ReturnType<typeof createRequests>;

/** What the command line does differently. */
type Handling = {
  /** Called for each request. By default it is retried as often as the options say. */
  waits?(): WaitAfter;
  /** Sees the result of each attempt, or replaces it. */
  settle?<Body>(request: ApiRequest, attempt: Promise<ApiAnswer<Body>>): Promise<ApiAnswer<Body>>;
};

/**
 * What all operations are built on.
 * @throws TypeError for an invalid URL, or one that is neither http nor https
 */
export function createRequests(
  options: PlantStoreOptions,
  { waits, settle = (_, attempt) => attempt }: Handling = {},
) {
  const { url = 'http://127.0.0.1:3000', timeoutMs = 30_000, retries = 4 } = options;
  const { origin, pathname, protocol } = new URL(url);
  // "localhost:3000" is a valid URL, too, with the scheme "localhost".
  if (!/^https?:$/.test(protocol))
    throw new TypeError(`url must begin with http:// or https://, not ${url}.`);
  const base = origin + pathname.replace(/\/+$/, '');
  const open = opener(base, options);

  async function attempt<Body>(request: ApiRequest): Promise<ApiAnswer<Body>> {
    const { ending, unlink } = linkedTo(request.signal);
    try {
      return await within(timeoutMs, ending, `${base} did not answer within ${timeoutMs} ms.`, async () => {
        const response = await open({ ...request, signal: ending.signal });
        // The service follows its OpenAPI document, from which the types of the operations are generated.
        return { body: (await jsonOf(base, response)) as Body, headers: response.headers };
      });
    } finally {
      unlink();
    }
  }

  /** Sends until there is a final response, and reads it. `Body` is what the operation documents. */
  function send<Body>(request: ApiRequest): Promise<ApiAnswer<Body>> {
    const { method, signal, idempotencyKey = method === 'POST' ? randomKey() : undefined } = request;
    const keyed = { ...request, idempotencyKey };
    return retried(() => settle(keyed, attempt<Body>(keyed)), {
      waitAfter: waits?.() ?? retriesOf(retries),
      signal,
      // A DELETE is answered without a body.
      gone: method === 'DELETE' && ({ headers: new Headers() } as ApiAnswer<Body>),
    });
  }

  const read = async <Body>(request: ApiRequest) => (await send<Body>(request)).body;

  return {
    /** The URL of the service, without a trailing slash. */
    base,
    timeoutMs,
    retries,
    open,
    send,
    /** Like `send`, but returns only the body. */
    read,
    /** POSTs a body and returns that of the response. */
    post: <Body>(path: readonly string[], body: object, options: KeyedOptions = {}) =>
      read<Body>({ ...options, method: 'POST', path, body: JSON.stringify(body) }),
  };
}

/** Sends once. Resolves with the head of a 2xx response. */
function opener(base: string, { token, fetch = globalThis.fetch }: PlantStoreOptions) {
  return async (request: ApiRequest): Promise<Response> => {
    const { method = 'GET', path, query, body, headers, idempotencyKey, signal = null } = request;
    const target = pathOf(path) + queryOf(query);
    const fields = new Headers({ accept: 'application/json', ...headers });
    fields.set('authorization', bearer(typeof token === 'function' ? await token() : token));
    if (body !== undefined) fields.set('content-type', 'application/json');
    if (idempotencyKey !== undefined) fields.set('idempotency-key', quoted(idempotencyKey));
    // The call may have been aborted while it waited for the token.
    signal?.throwIfAborted();
    // The token is sent to the configured URL and never follows a redirect.
    const init: RequestInit = { method, headers: fields, body: body ?? null, signal, redirect: 'manual' };
    const response = await fetch(base + target, init).catch((cause) => {
      throw unanswered(base, cause);
    });
    if (response.ok) return response;
    throw await refused(base, target, response);
  };
}

/**
 * @throws TypeError for a segment that cannot be an id: a URL resolves "." and "..", so the request would go
 * elsewhere
 */
function pathOf(parts: readonly string[]): string {
  return parts
    .map((part) => {
      if (/^\.{0,2}$/.test(part)) throw new TypeError(`"${part}" is not an id.`);
      return `/${encodeURIComponent(part)}`;
    })
    .join('');
}

/** The query of the given parameters, with its question mark. */
function queryOf(parameters: Record<string, unknown> = {}): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  for (const [, value] of given) if (typeof value === 'number') integerText(value);
  // Its constructor makes every value a string, as a query needs.
  const query = `${new URLSearchParams(given as [string, string][])}`;
  return query && `?${query}`;
}

/** @throws TypeError for a text that no header can carry; the error of `Headers` would reveal the token */
function bearer(token: string): string {
  // A line break at the end of a file is not part of its token.
  const text = token.trim();
  if (/[^\x20-\x7e]/.test(text))
    throw new TypeError('The token contains a line break or a non-ASCII character.');
  return `Bearer ${text}`;
}

/** An RFC 8941 §3.3.3 string, so that a key may contain any printable ASCII character. */
function quoted(key: string): string {
  return `"${key.replace(/["\\]/g, '\\$&')}"`;
}

/** Not `randomUUID`, which pages have over https only. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

import { late, notOfPlantStore, refused, unanswered } from './api-failure.ts';
import type { Api } from './api-options.ts';
import { type JsonValue, readJson } from './json.ts';
import { requests } from './limits.ts';

export type ApiRequest = {
  /** Sent as JSON. */
  body?: Readonly<Record<string, unknown>>;
  /** With which the request may be sent again, and is done once. */
  idempotencyKey?: string;
  deadlineMs?: number;
  /** Ends it before it is answered. */
  signal?: AbortSignal;
};

export type ApiAnswer = {
  /** Null for an answer without a body. */
  body: JsonValue;
  headers: Headers;
};

/** One request to the service, read to its end. Throws `ApiFailure` unless it succeeded. */
export async function call(
  api: Api,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  { body, idempotencyKey, deadlineMs = requests.deadlineMs, signal: stop }: ApiRequest = {},
): Promise<ApiAnswer> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = stop ? AbortSignal.any([deadline, stop]) : deadline;
  const fields = new Headers();
  const init: RequestInit = { method, signal, headers: fields };
  if (idempotencyKey !== undefined) fields.set('idempotency-key', quoted(idempotencyKey));
  if (body !== undefined) {
    fields.set('content-type', 'application/json');
    init.body = JSON.stringify(body);
  }
  try {
    const response = await send(api, path, init);
    const { status, headers } = response;
    if (status === 204) return { body: null, headers };
    const value = readJson(await bytesOf(api, method, response));
    if (value === undefined) throw notOfPlantStore(api, status);
    return { body: value, headers };
  } catch (error) {
    throw deadline.aborted ? late(api, method, deadlineMs) : error;
  }
}

/** Sends a request as the owner of the token, and resolves as soon as it is answered with 2xx. Throws `ApiFailure`. */
export async function send(api: Api, path: string, init: RequestInit): Promise<Response> {
  const { method = 'GET' } = init;
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${api.token}`);
  if (!headers.has('accept')) headers.set('accept', 'application/json');
  let response: Response;
  try {
    // The token goes to the place that was named, and to no other.
    response = await fetch(api.url + path, { ...init, headers, redirect: 'manual' });
  } catch (error) {
    throw unanswered(api, method, error);
  }
  if (response.ok) return response;
  throw refused(api, response, await bytesOf(api, method, response));
}

/** A string of RFC 8941 §3.3.3. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

async function bytesOf(api: Api, method: string, { body, status }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > requests.answerBytes) break;
    }
  } catch (error) {
    throw unanswered(api, method, error);
  }
  if (length > requests.answerBytes) throw notOfPlantStore(api, status);
  return Buffer.concat(chunks);
}

import { refused as refusedAt } from '../../packages/client/src/answers.ts';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import type { Api } from './api-options.ts';
import { Failure } from './failure.ts';

/** The request that failed. */
export type Asked = {
  api: Api;
  method: string | undefined;
  /** Of the answer. */
  location: string | null;
  /** How long it could take. */
  deadlineMs: number;
};

/** The same failure of a request, in a sentence that says what helps. Anything else is given back as it is. */
export function explained(error: unknown, asked: Asked): unknown {
  if (!(error instanceof PlantStoreError)) return error;
  // What the reader of the answer has found itself.
  if (error.cause instanceof Failure) return error.cause;
  const { error: code, status, retryAfter, cause } = error;
  return new PlantStoreError(sentenceOf(error, asked), { error: code, status, retryAfter, cause });
}

/** What an answer other than 2xx says, to a request that was not sent by the client. */
export async function refused(api: Api, method: string, response: Response): Promise<PlantStoreError> {
  const error = await refusedAt(api.url, '', response);
  const asked = { api, method, location: response.headers.get('location'), deadlineMs: 0 };
  return new PlantStoreError(sentenceOf(error, asked), error);
}

/** What `error`, with which such a request failed, says. */
export function unanswered(api: Api, method: string, error: unknown): PlantStoreError {
  const asked = { api, method, location: null, deadlineMs: 0 };
  return new PlantStoreError(silence(error, asked), { cause: error });
}

function sentenceOf({ error: code, status, message, cause }: PlantStoreError, asked: Asked): string {
  const { api, location } = asked;
  if (code !== undefined) return `${message} (error ${code})${status === 401 ? otherToken(api) : ''}`;
  if (status === undefined) return silence(cause, asked);
  if (status < 400 && location !== null) {
    return `${api.url} leads on to ${location}. Give the URL of the service itself with --url.`;
  }
  return strange(api, status).message;
}

function otherToken({ tokenFrom }: Api): string {
  const from = tokenFrom === undefined ? '' : ` The token is from ${tokenFrom.replace(/^The/, 'the')}.`;
  return `${from} To make another: plant-store token create --user NAME; to save it: plant-store login`;
}

/** What a proxy answers that has no answer of the service. */
const PROXY: ReadonlySet<number> = new Set([502, 503, 504]);

/** An answer that no plant store gives. */
export function strange({ url }: Api, status: number): Failure {
  return new Failure(
    PROXY.has(status)
      ? `${url} answers ${status}: a proxy there does not reach the service at the moment.`
      : `What answers at ${url} (with status ${status}) does not seem to be a plant store. Name another place with --url.`,
  );
}

const noConnection: Readonly<Record<string, (api: Api) => string>> = {
  ECONNREFUSED: ({ url }) =>
    `Nothing answers at ${url}. Is the service running (plant-store serve)? Another place is named with --url.`,
  ENOTFOUND: ({ url }) => `The host of ${url} cannot be found. Another place is named with --url.`,
  EAI_AGAIN: ({ url }) => `The host of ${url} cannot be looked up at the moment.`,
};

/** Unlike what is wrong with a certificate, say. */
const TEMPORARY =
  /^(?:E(?:TIMEDOUT|HOSTUNREACH|NETUNREACH|NETDOWN|CONNABORTED)|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;
const BROKEN_OFF = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;

/** Whether nobody was there: a service that has answered before may come back, another one is not waited for. */
export function isUnreachable({ status, cause }: PlantStoreError): boolean {
  const code = codeOf(cause);
  return status === undefined && cause !== undefined && !TEMPORARY.test(code) && !BROKEN_OFF.test(code);
}

/** Whether nobody was there to take the request, so that it certainly did nothing. */
export function isUnsent({ cause }: PlantStoreError): boolean {
  return Object.hasOwn(noConnection, codeOf(cause));
}

/** Why there was no whole answer. `cause` is what `fetch` failed with; undefined when the time was over. */
function silence(cause: unknown, { api, method = 'GET', deadlineMs }: Asked): string {
  const code = codeOf(cause);
  const known = noConnection[code]?.(api);
  if (known !== undefined) return known;
  const doubt = method === 'GET' ? '' : ' It is unknown whether it was done.';
  const reason = BROKEN_OFF.test(code) ? 'the connection broke off' : code;
  const why = cause === undefined ? ` within ${deadlineMs / 1000} s` : `: ${reason}`;
  return `There is no whole answer from ${api.url}${why}.${doubt}`;
}

/** `fetch` hides the reason in the cause; what the system says is a code. */
function codeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const inner = cause instanceof Error ? cause : error;
  if (!(inner instanceof Error)) return String(inner);
  return 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.message;
}

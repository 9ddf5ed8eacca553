import { type Answer, refused as refusedAt } from '../../packages/client/src/answers.ts';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import { mayBeDone } from '../../packages/client/src/retries.ts';
import type { Api } from './api-options.ts';
import { Failure } from './failure.ts';

type Asked = {
  api: Api;
  method: string | undefined;
  location?: string | null;
  /** The request's timeout, if the client sent it. */
  deadlineMs?: number;
};

/** Rewrites a failed request as a sentence that says what to do. Returns any other error unchanged. */
export function explained(error: unknown, asked: Asked): unknown {
  if (!(error instanceof PlantStoreError)) return error;
  // Found while reading the answer.
  if (error.cause instanceof Failure) return error.cause;
  return new PlantStoreError(sentenceOf(error, asked), error);
}

/** Describes an answer other than 2xx to a request that the client did not send. */
export async function refused(api: Api, method: string, response: Answer): Promise<PlantStoreError> {
  const error = await refusedAt(api.url, '', response);
  const location = response.headers.get('location');
  return new PlantStoreError(sentenceOf(error, { api, method, location }), error);
}

/** Describes a network error of such a request. */
export function unanswered(api: Api, method: string, error: unknown): PlantStoreError {
  return new PlantStoreError(silence(error, { api, method }), { cause: error });
}

function sentenceOf({ error: code, status, message, cause }: PlantStoreError, asked: Asked): string {
  const { api, location = null } = asked;
  if (code !== undefined) return `${message} (error ${code})${status === 401 ? otherToken(api) : ''}`;
  if (status === undefined) return silence(cause, asked);
  if (status < 400 && location !== null) {
    return `${api.url} redirects to ${location}. Pass the service's own URL with --url.`;
  }
  return strange(api, status).message;
}

function otherToken({ tokenFrom }: Api): string {
  const from = tokenFrom === undefined ? '' : ` The token is from ${tokenFrom.replace(/^The/, 'the')}.`;
  return `${from} To create another: plant-store token create --user NAME. To save it: plant-store login`;
}

/** Statuses with which a proxy answers for a service it cannot reach. */
const PROXY: ReadonlySet<number> = new Set([502, 503, 504]);

/** For an answer that no plant store gives. */
export function strange({ url }: Api, status: number): Failure {
  return new Failure(
    PROXY.has(status)
      ? `${url} answers ${status}: a proxy cannot reach the service right now.`
      : `${url} answers ${status}, but not like a plant store. Pass another URL with --url.`,
  );
}

/** Network trouble that may pass, unlike a wrong certificate. */
const TEMPORARY =
  /^(?:E(?:TIMEDOUT|HOSTUNREACH|NETUNREACH|NETDOWN|CONNABORTED)|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;
const TOO_LATE = /^(?:ETIMEDOUT|UND_ERR_\w+_TIMEOUT)$/;
const UNTRUSTED = /CERT|^UNABLE_TO_/;
const BROKEN_OFF = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;

/** Whether no service answered at all. Only a service that answered before is worth waiting for. */
export function isUnreachable({ status, cause }: PlantStoreError): boolean {
  const code = codeOf(cause);
  return status === undefined && cause !== undefined && !TEMPORARY.test(code) && !BROKEN_OFF.test(code);
}

/** Why no complete answer came. `cause` is what `fetch` threw; undefined after a timeout. */
function silence(cause: unknown, { api: { url }, method = 'GET', deadlineMs = 0 }: Asked): string {
  const code = codeOf(cause);
  const known: Readonly<Record<string, string>> = {
    ECONNREFUSED: `Nothing answers at ${url}. Is the service running (plant-store serve)? To use another URL: --url.`,
    ENOTFOUND: `The host of ${url} does not resolve. To use another URL: --url.`,
    EAI_AGAIN: `The host of ${url} cannot be resolved right now.`,
    ERR_SSL_WRONG_VERSION_NUMBER: `What listens at ${url} does not speak TLS. Use http:// or another port: --url.`,
  };
  if (known[code] !== undefined) return known[code];
  if (UNTRUSTED.test(code))
    return `The certificate of ${url} is not accepted (${code}). For an authority of your own, set NODE_EXTRA_CA_CERTS to its file.`;
  const isDoubtful = method !== 'GET' && mayBeDone({ error: undefined, cause });
  const doubt = isDoubtful ? ' It may or may not have been carried out.' : '';
  const reason = BROKEN_OFF.test(code) ? 'the connection broke' : code;
  const late = cause === undefined ? `within ${deadlineMs / 1000} s` : 'in time';
  const why = cause === undefined || TOO_LATE.test(code) ? ` ${late}` : `: ${reason}`;
  return `No complete answer from ${url}${why}.${doubt}`;
}

/** `fetch` keeps the reason in the cause; system errors have a code. */
function codeOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const inner = cause instanceof Error ? cause : error;
  if (!(inner instanceof Error)) return String(inner);
  return 'code' in inner && typeof inner.code === 'string' ? inner.code : inner.message;
}

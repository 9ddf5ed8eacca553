import { readJson } from './json.ts';
import { PlantStoreError } from './plant-store-error.ts';

/** Turns the service's response into a value or an error. `base` is the URL of the service. */

/** What `refused` reads from a response. A `Response` has it, but cannot be created with every status. */
export type Answer = Pick<Response, 'status' | 'text'> & { headers: Pick<Headers, 'get'> };

/** @throws like `parsed` */
export async function jsonOf(base: string, response: Response): Promise<unknown> {
  const text = await textOf(base, response);
  return response.status === 204 ? undefined : parsed(base, response.status, text);
}

/** @throws PlantStoreError if the connection breaks first */
function textOf(base: string, response: Answer): Promise<string> {
  return response.text().catch((cause) => {
    throw unanswered(base, cause);
  });
}

/**
 * @throws PlantStoreError for invalid JSON
 * @throws RangeError for an id that this runtime cannot read exactly
 */
export function parsed(base: string, status: number, text: string): unknown {
  try {
    return readJson(text);
  } catch (cause) {
    throw cause instanceof RangeError ? cause : foreign(base, { status, cause });
  }
}

/** There was no response, or only part of one. */
export function unanswered(base: string, cause: unknown): PlantStoreError {
  // These members are read from whatever was thrown. Node explains its "fetch failed" in the cause, and with several
  // addresses for a name, only in the code.
  const { message, cause: inner } = cause as Thrown & { cause?: Thrown };
  return new PlantStoreError(`${base} did not answer: ${inner?.message || inner?.code || message}`, {
    cause,
  });
}

type Thrown = { message?: string; code?: string };

/**
 * The error for a response other than 2xx to a request for that path.
 * @throws PlantStoreError if the connection breaks first: a retry may bring the reason
 */
export async function refused(base: string, path: string, response: Answer): Promise<PlantStoreError> {
  const { status, headers } = response;
  // The only response below 400 that gets here is a redirect, whose status and target a browser hides.
  if (status < 400) return redirected(base, path, response);
  const text = await textOf(base, response);
  const fields = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: secondsUntil(headers.get('retry-after') ?? ''),
  };
  try {
    // These members are read from whatever the body contains.
    const { error, message } = readJson(text) as { error: unknown; message: unknown };
    if (typeof error === 'number' && typeof message === 'string') {
      return new PlantStoreError(message, { ...fields, error });
    }
  } catch {
    // A proxy answers with a page.
  }
  return foreign(base, fields);
}

function redirected(base: string, path: string, { status, headers }: Answer): PlantStoreError {
  const location = headers.get('location');
  // If the target ends in the same path, the rest of it is the `url` to use.
  const target = location?.endsWith(path) ? location.slice(0, -path.length) : location;
  return new PlantStoreError(
    `${base} redirects ${target ? `to ${target}` : 'elsewhere'}: use that as url if it is the service.`,
    { status },
  );
}

/** A response that does not come from a plant store. */
export function foreign(base: string, fields: { status: number; cause?: unknown }): PlantStoreError {
  return new PlantStoreError(`${base} answered ${fields.status}, but not as a plant store does.`, fields);
}

/** The value of `Retry-After`: seconds or a date. */
function secondsUntil(text: string): number | undefined {
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

import { readJson } from './json.ts';
import { PlantStoreError } from './plant-store-error.ts';

/** What comes back from the service, as a value or as the error that tells of it. `base` is where it is. */

/** @throws PlantStoreError for what is not JSON */
export async function jsonOf(base: string, response: Response): Promise<unknown> {
  const { status } = response;
  const text = await response.text().catch((cause) => {
    throw unanswered(base, cause);
  });
  return status === 204 ? undefined : parsed(base, status, text);
}

/** @throws PlantStoreError for what is not JSON */
export function parsed(base: string, status: number, text: string): unknown {
  try {
    return readJson(text);
  } catch (cause) {
    throw foreign(base, { status, cause });
  }
}

/** Nothing came, or not all of it. */
export function unanswered(base: string, cause: unknown): PlantStoreError {
  // Whatever was thrown, only these members are looked at. Node says what happened in the cause of its "fetch failed",
  // and where a name has several addresses in the code alone.
  const { message, cause: inner } = cause as Thrown & { cause?: Thrown };
  return new PlantStoreError(`${base} did not answer: ${inner?.message || inner?.code || message}`, {
    cause,
  });
}

type Thrown = { message?: string; code?: string };

/** An answer other than 2xx to a request for that path. */
export async function refused(base: string, path: string, response: Response): Promise<PlantStoreError> {
  const { status, headers } = response;
  // Nothing below 400 gets here but a redirect, of which a browser tells neither status nor place.
  if (status < 400) return redirected(base, path, { status, location: headers.get('location') });
  const fields = { status, retryAfter: secondsUntil(headers.get('retry-after')) };
  try {
    // Whatever it is, only these members are looked at.
    const { error, message } = readJson(await response.text()) as { error: unknown; message: unknown };
    if (typeof error === 'number' && typeof message === 'string') {
      return new PlantStoreError(message, { ...fields, error });
    }
  } catch {
    // A proxy answers with a page.
  }
  return foreign(base, fields);
}

function redirected(
  base: string,
  path: string,
  { status, location }: { status: number; location: string | null },
): PlantStoreError {
  // The same path there is what to ask for when that place is the `url`.
  const place = location?.endsWith(path) ? location.slice(0, -path.length) : location;
  return new PlantStoreError(
    `${base} redirects ${place ? `to ${place}` : 'elsewhere'}: give that as url, if it is the service.`,
    { status },
  );
}

/** An answer that no plant store gives. */
export function foreign(base: string, fields: { status: number; cause?: unknown }): PlantStoreError {
  return new PlantStoreError(`${base} answers ${fields.status}, and not as a plant store does.`, fields);
}

/** What `Retry-After` says: seconds, or a date. */
function secondsUntil(text: string | null): number | undefined {
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

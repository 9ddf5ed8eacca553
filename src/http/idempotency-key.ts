import { AppError } from '../errors.ts';
import { idempotency as limits } from '../limits.ts';

/** The key of a header: a string of RFC 8941 §3.3.3, or the same without quotation marks. */
export function parseKey(header: string): string | undefined {
  const quoted = QUOTED.exec(header)?.[1]?.replaceAll(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(header) ? header : '');
  return key.length >= 1 && key.length <= limits.keyLength ? key : undefined;
}

export function unreadableKey(): AppError {
  return new AppError(
    40006,
    `The Idempotency-Key must be 1 to ${limits.keyLength} characters: a string in quotation marks, or a token without them.`,
  );
}

const QUOTED = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** The characters of a token (RFC 9110 §5.6.2), and those that ids are written with besides. */
const BARE = /^[\w!#$%&'*+.^`|~:/=@-]+$/;

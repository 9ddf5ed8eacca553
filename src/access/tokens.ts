import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { access } from '../limits.ts';
import { LAST_TIME, type Runtime } from '../runtime.ts';
import type { AccessContext, NewToken, StoredToken } from './port.ts';

const PREFIX = 'pst_';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/**
 * The largest multiple of 62 in a byte. Bytes from here on are discarded, so that every character is equally likely.
 */
const UNBIASED = 248;

export const labelRule = `at most ${access.labelLength} characters, without control characters or lone surrogates`;
/** The control characters as a JSON Schema's pattern. Not `\\p{Cc}`, which not all languages support. */
export const LABEL_TEXT = '^[^\\x00-\\x1F\\x7F-\\x9F]*$';
const LABEL = new RegExp(LABEL_TEXT);

/** Whether a text satisfies `labelRule`. */
export function isLabel(text: string): boolean {
  return LABEL.test(text) && text.isWellFormed() && [...text].length <= access.labelLength;
}

/**
 * A new opaque token: `pst_`, 32 random base62 characters (190 bits), and 6 base62 characters of the CRC-32 of
 * everything before.
 */
export function mintToken(random: Runtime['random']): string {
  let body = '';
  while (body.length < RANDOM_LENGTH) {
    for (const byte of random(RANDOM_LENGTH)) {
      if (byte < UNBIASED && body.length < RANDOM_LENGTH) body += BASE62.charAt(byte % 62);
    }
  }
  return PREFIX + body + checksum(PREFIX + body);
}

/** True for a text with the shape of an opaque token but a wrong checksum, so that the store need not be asked. */
export function isMistyped(token: string): boolean {
  return SHAPE.test(token) && checksum(token.slice(0, -CHECKSUM_LENGTH)) !== token.slice(-CHECKSUM_LENGTH);
}

/** The SHA-256 that the store keeps of a token, in hexadecimal. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}

/** A new token, and what the store keeps of it. */
export function newToken({ random, ids, clock }: Runtime) {
  const token = mintToken(random);
  return { token, kept: { id: ids.next('tok'), hash: hashToken(token), createdAt: clock.now() } };
}

/** `label` must satisfy `isLabel`. */
type TokenRequest = Pick<NewToken, 'user' | 'label' | 'scopes'> & {
  /** How long the token is valid, in milliseconds. Absent: until it is revoked. */
  expiresInMs?: number | undefined;
};

/** Creates a token, which cannot be shown again. Undefined when there is no such user. */
export async function createToken(
  { store, runtime }: AccessContext,
  { user, label, scopes, expiresInMs }: TokenRequest,
): Promise<{ id: string; token: string } | undefined> {
  const { token, kept } = newToken(runtime);
  const expiresAt = endOf(kept.createdAt, expiresInMs);
  const outcome = await store.createToken({ ...kept, user, label, scopes, expiresAt });
  return outcome === 'created' ? { id: kept.id, token } : undefined;
}

type RotationRequest = {
  /** The id of the token to replace. */
  id: string;
  /** How long the old token keeps working, in milliseconds; 0 ends it now. */
  overlapMs: number;
  /** How long the new token is valid, in milliseconds. Absent: as long as the old one was, if it expires. */
  expiresInMs?: number | undefined;
};

/**
 * Replaces a live token with a new one of the same user, label and scopes. `oldUntil` and `expiresAt`: when the old and
 * the new one end, in milliseconds since the Unix epoch; the new one may never expire.
 */
export async function rotateToken(
  { store, runtime }: AccessContext,
  { id: oldId, overlapMs, expiresInMs }: RotationRequest,
) {
  const old = (await store.tokens()).find(({ id }) => id === oldId);
  if (!old) return 'no token';
  const { token, kept } = newToken(runtime);
  const expiresAt = endOf(kept.createdAt, expiresInMs ?? lifetimeOf(old));
  const overlapUntil = kept.createdAt + overlapMs;
  const outcome = await store.rotateToken({ id: oldId, replacement: { ...kept, expiresAt }, overlapUntil });
  if (outcome === 'full' || outcome === 'caller ended')
    throw new Error(`The operator was refused: ${outcome}`);
  if (outcome !== 'rotated') return outcome;
  const oldUntil = Math.min(old.expiresAt ?? overlapUntil, overlapUntil);
  return { id: kept.id, token, user: old.user.name, expiresAt, oldUntil };
}

/** When a token ends, in milliseconds since the Unix epoch and at most `LAST_TIME`; undefined without a lifetime. */
export function endOf(createdAt: number, lifetimeMs: number | undefined): number | undefined {
  return lifetimeMs === undefined ? undefined : Math.min(createdAt + lifetimeMs, LAST_TIME);
}

/** How long a token was to be valid, in milliseconds; undefined if it does not expire. */
export function lifetimeOf({ createdAt, expiresAt }: StoredToken): number | undefined {
  return expiresAt === undefined ? undefined : expiresAt - createdAt;
}

/** `disabled`: it would be live, but its user is disabled. Only a live token is accepted. */
type TokenStatus = 'live' | 'disabled' | 'expired' | 'revoked';

export function tokenStatus({ user, expiresAt, revokedAt }: StoredToken, now: number): TokenStatus {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt !== undefined && expiresAt <= now) return 'expired';
  return user.isDisabled ? 'disabled' : 'live';
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

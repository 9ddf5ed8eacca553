import type { StoredToken } from '../../access/port.ts';
import { tokenStatus } from '../../access/tokens.ts';
import type { Field } from '../terminal/table.ts';
import { isoTime } from '../terminal/time.ts';

/** The fields of `describeToken`, for a help text. */
export const tokenMembers =
  '{id, user, label, scopes, status, createdAt, expiresAt, revokedAt, replacedBy, isBootstrap, lastUsedOn}; expiresAt, revokedAt, replacedBy and lastUsedOn may be null';

export type TokenView = ReturnType<typeof describeToken>;

/** Everything the store keeps of a token except its hash. */
export function describeToken(token: StoredToken, now: number) {
  const { id, label, scopes, createdAt, expiresAt, revokedAt, replacedBy, isBootstrap } = token;
  const time = (at: number | undefined) => (at === undefined ? null : isoTime(at));
  return {
    id,
    user: token.user.name,
    label,
    scopes,
    status: tokenStatus(token, now),
    createdAt: isoTime(createdAt),
    expiresAt: time(expiresAt),
    revokedAt: time(revokedAt),
    replacedBy: replacedBy ?? null,
    isBootstrap,
    lastUsedOn: token.lastUsedOn ?? null,
  };
}

export const tokenHeadings = ['ID', 'USER', 'LABEL', 'SCOPES', 'STATUS', 'CREATED', 'EXPIRES'];

export function tokenRow({ id, user, label, scopes, status, createdAt, expiresAt }: TokenView): string[] {
  return [id, user, label, scopes.join(','), status, createdAt, expiresAt ?? 'never'];
}

export function tokenFields(token: TokenView): Field[] {
  return [
    ['ID', token.id],
    ['User', token.user],
    ['Label', token.label || undefined],
    ['Scopes', token.scopes.join(', ')],
    ['Status', statusInWords(token)],
    ['Created', token.createdAt],
    ['Expires', token.expiresAt ?? 'never'],
    ['Last used', token.lastUsedOn ?? undefined],
    ['Replaced by', token.replacedBy ?? undefined],
    ['Set by', token.isBootstrap ? 'BOOTSTRAP_TOKEN' : undefined],
  ];
}

function statusInWords({ status, expiresAt, revokedAt }: TokenView): string {
  switch (status) {
    case 'revoked':
      return `revoked at ${revokedAt}`;
    case 'expired':
      return `expired at ${expiresAt}`;
    case 'disabled':
      return 'disabled, until its user is enabled';
    case 'live':
      return 'live';
  }
}

import { InvalidArgumentError } from 'commander';
import type { StoredToken } from '../../access/port.ts';
import { isScope, type Scope, scopes } from '../../access/scopes.ts';
import { createToken, hashToken, isLabel, labelRule, rotateToken, tokenStatus } from '../../access/tokens.ts';
import { access } from '../../limits.ts';
import { serviceFor } from '../api.ts';
import { Failure, Misuse } from '../failure.ts';
import { createOwn, isOwn, listOwn, type OwnFlags, ownOption, rotateOwn } from '../own-tokens.ts';
import { onStore, type StoreFlags, withStore } from '../service/store.ts';
import { type Field, renderFields, renderTable } from '../terminal/table.ts';
import { insist, print, printJson, say } from '../terminal/terminal.ts';
import { durationRule, isoTime, overlapOption, parseLength } from '../terminal/time.ts';
import { accept, option, settingOption, TOKEN, tokenId, type Verbs } from '../verb.ts';
import { missingUser, refuseUnknownUsers, userCommand } from './user.ts';

type CreateFlags = StoreFlags &
  OwnFlags & { user?: string; label: string; scopes?: Scope[]; expiresIn?: number };
/** In milliseconds. */
type RotateFlags = StoreFlags & OwnFlags & { overlap?: number; expiresIn?: number };

/** The members of `describeToken`, for a help text. */
const tokenMembers =
  '{id, user, label, scopes, status, createdAt, expiresAt, revokedAt, replacedBy, isBootstrap, lastUsedOn}; expiresAt, revokedAt, replacedBy and lastUsedOn may be null';

export const verbs: Verbs = {
  create: {
    description: 'create a token and print it; it cannot be shown again',
    options: [
      option('--user <name>', 'the user that the token acts for'),
      ownOption(),
      option(
        '--label <text>',
        `what the token is for: ${labelRule}`,
        accept(isLabel, `A label has ${labelRule}.`),
      ).default(''),
      option(
        '--scopes <list>',
        `what it may do, comma-separated (default: ${scopes.join(',')}; with --own, what your token may do)`,
        parseScopes,
        { choices: scopes, isList: true },
      ),
      option(
        '--expires-in <duration>',
        `${durationRule} (default: never; with --own, when your token ends)`,
        parseLength,
      ),
      settingOption('dataDir'),
    ],
    examples: [
      'token create --user ann',
      "token create --user ann --label 'nightly import' --scopes plants:write --expires-in 90d",
      'token create --own --label ci --scopes plants:read --expires-in 1h',
    ],
    isRemote: true,
    async run(flags: CreateFlags) {
      if (isOwn(flags)) return createOwn(flags);
      const { user, label } = flags;
      if (user === undefined) throw new Misuse('--user or --own is needed');
      const request = { user, label, scopes: flags.scopes ?? scopes, expiresInMs: flags.expiresIn };
      const made = await withStore(flags, async (parts) => {
        const created = await createToken(parts, request);
        const stored = created && (await parts.store.findToken(hashToken(created.token)));
        return created && { ...created, isDisabled: stored?.user.isDisabled };
      });
      if (made === undefined) throw missingUser(user, flags);
      print([made.token]);
      say(`Created the token ${made.id} for the user "${user}". It is shown only once.`);
      if (made.isDisabled) {
        say(`The user is disabled, so it is refused until: ${userCommand('enable', user, flags)}`);
      }
    },
  },
  list: {
    description: 'list tokens, oldest first, without the secrets',
    options: [
      option('--user <name>', 'only tokens of this user'),
      ownOption(),
      option('--json', `print a JSON array of ${tokenMembers}; with --own, of what GET /tokens returns`),
      settingOption('dataDir'),
    ],
    examples: [
      'token list',
      'token list --user ann',
      `token list --json | jq -r '.[] | select(.status == "live") | .id'`,
    ],
    isRemote: true,
    async run(flags: StoreFlags & OwnFlags & { user?: string; json?: true }) {
      if (isOwn(flags)) return listOwn(flags);
      const { user } = flags;
      const tokens = await withStore(flags, async ({ store, runtime }) => {
        await refuseUnknownUsers(store, flags, user);
        const now = runtime.clock.now();
        const asked = (await store.tokens()).filter(
          (token) => user === undefined || token.user.name === user,
        );
        return asked.map((token) => describeToken(token, now));
      });
      if (flags.json) return printJson(tokens);
      if (tokens.length === 0) return say('No tokens found.');
      const headings = ['ID', 'USER', 'LABEL', 'SCOPES', 'STATUS', 'CREATED', 'EXPIRES'];
      print(renderTable(headings, tokens.map(tokenRow)));
    },
  },
  show: {
    description: 'show everything stored about a token; the token itself is not stored',
    arguments: [tokenId()],
    options: [option('--json', `print a JSON object ${tokenMembers}`), settingOption('dataDir')],
    examples: [`token show ${TOKEN}`, `token show ${TOKEN} --json | jq -r .status`],
    async run(flags: StoreFlags & { json?: true }, id: string) {
      const token = await withStore(flags, async ({ store, runtime }) => {
        const found = (await store.tokens()).find((one) => one.id === id);
        return found && describeToken(found, runtime.clock.now());
      });
      if (token === undefined) throw unknownToken(id, flags);
      if (flags.json) printJson(token);
      else print(renderFields(tokenFields(token)));
    },
  },
  rotate: {
    description: 'replace a token with a new one that has the same user, label and scopes, and print it',
    arguments: [tokenId()],
    options: [
      overlapOption('the old token stays valid', access.tokenOverlapMs.most),
      option(
        '--expires-in <duration>',
        `${durationRule} (default: the old token's lifetime); not with --own`,
        parseLength,
      ),
      ownOption(),
      settingOption('dataDir'),
    ],
    examples: [
      `token rotate ${TOKEN} > ann.token`,
      `token rotate ${TOKEN} --overlap 7d --expires-in 90d`,
      `token rotate --own ${TOKEN} > own.token`,
    ],
    isRemote: true,
    async run(flags: RotateFlags, id: string) {
      if (isOwn(flags)) {
        if (flags.expiresIn !== undefined) throw new Misuse('--expires-in cannot be used with --own');
        return rotateOwn(flags, id);
      }
      const overlapMs = flags.overlap ?? access.tokenOverlapMs.default;
      const request = { id, overlapMs, expiresInMs: flags.expiresIn };
      const rotated = await withStore(flags, (parts) => rotateToken(parts, request));
      if (typeof rotated === 'string') throw failures[rotated](id, flags);
      if ('replacedBy' in rotated) {
        throw new Failure(`The token ${id} was already replaced by ${rotated.replacedBy}; rotate that one.`);
      }
      print([rotated.token]);
      const { user, expiresAt, oldUntil } = rotated;
      const end = expiresAt === undefined ? 'is valid until revoked' : `is valid until ${isoTime(expiresAt)}`;
      const old = overlapMs === 0 ? 'is refused from now on' : `stays valid until ${isoTime(oldUntil)}`;
      say(
        `Created the token ${rotated.id} for the user "${user}". It is shown only once and ${end}.`,
        `The old token, ${id}, ${old}.`,
      );
    },
  },
  revoke: {
    description:
      'revoke a token; takes effect at once in a running service, on PostgreSQL within 5 s on each replica',
    arguments: [tokenId()],
    options: [ownOption(), settingOption('dataDir')],
    examples: [`token revoke ${TOKEN}`, `token revoke --own ${TOKEN}`],
    isRemote: true,
    async run(flags: StoreFlags & OwnFlags, id: string) {
      if (isOwn(flags)) {
        await serviceFor(flags).tokens.revoke(id);
        return say(`Revoked the token ${id}.`);
      }
      const revoked = await withStore(flags, async ({ store, runtime }) => {
        if (!(await store.revokeToken(id, runtime.clock.now()))) throw unknownToken(id, flags);
        return (await store.tokens()).find((token) => token.id === id);
      });
      say(`Revoked the token ${id}.`);
      if (revoked?.isBootstrap) {
        insist(
          'warning: It is the bootstrap token: the next start with the same BOOTSTRAP_TOKEN accepts it again. Change or remove that setting.',
        );
      }
    },
  },
};

function unknownToken(id: string, flags: StoreFlags): Failure {
  return new Failure(`There is no token ${id}. To list tokens: plant-store token list${onStore(flags)}`);
}

const failures = {
  'no token': unknownToken,
  'not live': (id: string, flags: StoreFlags) =>
    new Failure(
      `The token ${id} has expired or was revoked. To create another: plant-store token create --user NAME${onStore(flags)}`,
    ),
  bootstrap: (id: string) =>
    new Failure(
      `The token ${id} is the bootstrap token. To replace it, start the service with another BOOTSTRAP_TOKEN.`,
    ),
};

/** In catalogue order, without duplicates. */
function parseScopes(text: string): Scope[] {
  const named = text.split(',').map((scope) => scope.trim());
  const unknown = named.filter((scope) => !isScope(scope));
  if (unknown.length === 0) return scopes.filter((scope) => named.includes(scope));
  const quoted = unknown.map((scope) => JSON.stringify(scope)).join(', ');
  throw new InvalidArgumentError(`There is no scope ${quoted}. The scopes are ${scopes.join(', ')}.`);
}

type TokenView = ReturnType<typeof describeToken>;

/** Everything the store keeps of a token except its hash. */
function describeToken(token: StoredToken, now: number) {
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

function tokenRow({ id, user, label, scopes, status, createdAt, expiresAt }: TokenView): string[] {
  return [id, user, label, scopes.join(','), status, createdAt, expiresAt ?? 'never'];
}

function tokenFields(token: TokenView): Field[] {
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

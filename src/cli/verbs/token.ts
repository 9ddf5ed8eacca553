import { InvalidArgumentError } from 'commander';
import { isScope, type Scope, scopes } from '../../access/scopes.ts';
import { createToken, hashToken, isLabel, labelRule, rotateToken } from '../../access/tokens.ts';
import { access } from '../../limits.ts';
import { Failure } from '../failure.ts';
import { type StoreFlags, withStore } from '../service/store.ts';
import { renderFields, renderTable } from '../terminal/table.ts';
import { print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { durationRule, isoTime, parseDuration } from '../terminal/time.ts';
import { option, refuseValue, required, settingOption, type Verbs } from '../verb.ts';
import { tokenId } from './ids.ts';
import { describeToken, tokenFields, tokenHeadings, tokenMembers, tokenRow } from './token-view.ts';
import { missingUser, refuseUnknownUsers } from './user.ts';

export const examples = [
  'token create --user ann',
  'token list',
  'token rotate tok_01k0c3t2v4x5y6z7a8b9c0d1e2',
  'token revoke tok_01k0c3t2v4x5y6z7a8b9c0d1e2',
];

type CreateFlags = StoreFlags & { user: string; label: string; scopes?: Scope[]; expiresIn?: number };
/** In milliseconds. */
type RotateFlags = StoreFlags & { overlap?: number; expiresIn?: number };

const MOST_DAYS = access.tokenOverlapMs.most / 86_400_000;
const OVERLAP = `a duration such as 30m, 12h or 7d, at most ${MOST_DAYS}d; or 0, which ends the old one now`;

export const verbs: Verbs = {
  create: {
    description: 'make a token and print it; it cannot be shown again',
    options: [
      required('--user <name>', 'the user that the token acts for'),
      option('--label <text>', `what the token is for: ${labelRule}`, parseLabel).default(''),
      option(
        '--scopes <list>',
        `what it may do, separated by commas (default: ${scopes.join(',')})`,
        parseScopes,
      ),
      option('--expires-in <duration>', `${durationRule} (default: never)`, parseExpiry),
      settingOption('dataDir'),
    ],
    examples: [
      'token create --user ann',
      "token create --user ann --label 'nightly import' --scopes plants:write --expires-in 90d",
    ],
    async run(flags: CreateFlags) {
      const { user, label } = flags;
      const request = { user, label, scopes: flags.scopes ?? scopes, expiresInMs: flags.expiresIn };
      const made = await withStore(flags, async (parts) => {
        const created = await createToken(parts, request);
        const stored = created && (await parts.store.findToken(hashToken(created.token)));
        return created && { ...created, isDisabled: stored?.user.isDisabled };
      });
      if (made === undefined) throw missingUser(user);
      print(made.token);
      say(`Made the token ${made.id} of the user "${user}". It is shown only now.`);
      if (made.isDisabled) say(`It is refused until: plant-store user enable ${shellWord(user)}`);
    },
  },
  list: {
    description: 'list the tokens, oldest first, without the tokens themselves',
    options: [
      option('--user <name>', 'only those of this user'),
      option('--json', `print a JSON array of ${tokenMembers}`),
      settingOption('dataDir'),
    ],
    examples: [
      'token list',
      'token list --user ann',
      `token list --json | jq -r '.[] | select(.status == "live") | .id'`,
    ],
    async run(flags: StoreFlags & { user?: string; json?: true }) {
      const { user } = flags;
      const tokens = await withStore(flags, async ({ store, runtime }) => {
        await refuseUnknownUsers(store, user);
        const now = runtime.clock.now();
        const asked = (await store.tokens()).filter(
          (token) => user === undefined || token.user.name === user,
        );
        return asked.map((token) => describeToken(token, now));
      });
      if (flags.json) return printJson(tokens);
      if (tokens.length === 0) return say('There are no tokens.');
      print(...renderTable(tokenHeadings, tokens.map(tokenRow)));
    },
  },
  show: {
    description: 'show all that is kept of a token; the token itself is not kept',
    arguments: [tokenId()],
    options: [option('--json', `print a JSON object ${tokenMembers}`), settingOption('dataDir')],
    examples: [
      'token show tok_01k0c3t2v4x5y6z7a8b9c0d1e2',
      'token show tok_01k0c3t2v4x5y6z7a8b9c0d1e2 --json | jq -r .status',
    ],
    async run(flags: StoreFlags & { json?: true }, id: string) {
      const token = await withStore(flags, async ({ store, runtime }) => {
        const found = (await store.tokens()).find((one) => one.id === id);
        return found && describeToken(found, runtime.clock.now());
      });
      if (token === undefined) throw unknownToken(id);
      if (flags.json) printJson(token);
      else print(...renderFields(tokenFields(token)));
    },
  },
  rotate: {
    description: 'make a token in the place of another, with its user, label and scopes, and print it',
    arguments: [tokenId()],
    options: [
      option(
        '--overlap <duration>',
        `how long the old token works on beside it: ${OVERLAP} (default: 24h)`,
        parseOverlap,
      ),
      option(
        '--expires-in <duration>',
        `${durationRule} (default: as long as the old one was good for)`,
        parseExpiry,
      ),
      settingOption('dataDir'),
    ],
    examples: [
      'token rotate tok_01k0c3t2v4x5y6z7a8b9c0d1e2 > ann.token',
      'token rotate tok_01k0c3t2v4x5y6z7a8b9c0d1e2 --overlap 7d --expires-in 90d',
    ],
    async run(flags: RotateFlags, id: string) {
      const overlapMs = flags.overlap ?? access.tokenOverlapMs.default;
      const request = { id, overlapMs, expiresInMs: flags.expiresIn };
      const rotated = await withStore(flags, (parts) => rotateToken(parts, request));
      if (typeof rotated === 'string') throw failures[rotated](id);
      if ('replacedBy' in rotated) {
        throw new Failure(`The token ${id} was replaced by ${rotated.replacedBy} before; rotate that one.`);
      }
      print(rotated.token);
      const { user, expiresAt, oldUntil } = rotated;
      const end = expiresAt === undefined ? 'lasts until it is revoked' : `lasts until ${isoTime(expiresAt)}`;
      const old = overlapMs === 0 ? 'is refused from now on' : `works beside it until ${isoTime(oldUntil)}`;
      say(
        `Made the token ${rotated.id} of the user "${user}", which ${end}. It is shown only now.`,
        `The old one, ${id}, ${old}.`,
      );
    },
  },
  revoke: {
    description: 'end a token; a running service refuses it at once, on PostgreSQL each replica within 5 s',
    arguments: [tokenId()],
    options: [settingOption('dataDir')],
    examples: ['token revoke tok_01k0c3t2v4x5y6z7a8b9c0d1e2'],
    async run(flags: StoreFlags, id: string) {
      const isRevoked = await withStore(flags, ({ store, runtime }) =>
        store.revokeToken(id, runtime.clock.now()),
      );
      if (!isRevoked) throw unknownToken(id);
      say(`Revoked the token ${id}.`);
    },
  },
};

/** Where one of the tokens there are is to be named. */
function unknownToken(id: string): Failure {
  return new Failure(`There is no token ${id}. To see those there are: plant-store token list`);
}

const failures = {
  'no token': unknownToken,
  'not live': (id: string) =>
    new Failure(
      `The token ${id} has expired or was revoked. To make another: plant-store token create --user NAME`,
    ),
  bootstrap: (id: string) =>
    new Failure(
      `The token ${id} is the bootstrap token. To replace it, start the service with another BOOTSTRAP_TOKEN.`,
    ),
};

function parseLabel(text: string): string {
  if (isLabel(text)) return text;
  throw new InvalidArgumentError(`A label has ${labelRule}.`);
}

/** In the order of the catalogue, each once. */
function parseScopes(text: string): Scope[] {
  const named = text.split(',').map((scope) => scope.trim());
  const unknown = named.filter((scope) => !isScope(scope));
  if (unknown.length === 0) return scopes.filter((scope) => named.includes(scope));
  const quoted = unknown.map((scope) => JSON.stringify(scope)).join(', ');
  throw new InvalidArgumentError(`There is no scope ${quoted}. The scopes are ${scopes.join(', ')}.`);
}

/** Milliseconds, as below. */
function parseExpiry(text: string): number {
  return parseDuration(text) ?? refuseValue(durationRule);
}

function parseOverlap(text: string): number {
  const overlap = /^0s?$/.test(text) ? 0 : (parseDuration(text) ?? Number.NaN);
  return overlap <= access.tokenOverlapMs.most ? overlap : refuseValue(OVERLAP);
}

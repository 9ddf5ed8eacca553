import type { Command } from 'commander';
import type { StoredToken } from '../access/port.ts';
import { examples } from './examples.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { renderTable } from './table.ts';
import { print, say } from './terminal.ts';
import { isoTime } from './time.ts';

/** `token list` */
export function tokenList(token: Command): void {
  token
    .command('list')
    .description('list the tokens, oldest first, without the tokens themselves')
    .option(
      '--json',
      'print a JSON array of {id, user, label, scopes, status, createdAt, expiresAt, revokedAt}; the last two may be null',
    )
    .addOption(settingOption('dataDir'))
    .addHelpText(
      'after',
      examples('token list', `token list --json | jq -r '.[] | select(.status == "live") | .id'`),
    )
    .action(run);
}

async function run(flags: StoreFlags & { json?: true }): Promise<void> {
  const tokens = await withStore(flags, async ({ store, runtime }) => {
    const now = runtime.clock.now();
    return (await store.tokens()).map((token) => describe(token, now));
  });
  if (flags.json) return print(JSON.stringify(tokens, null, 2));
  if (tokens.length === 0) return say('There are no tokens.');
  const rows = tokens.map((token) => [
    token.id,
    token.user,
    token.label,
    token.scopes.join(','),
    token.status,
    token.createdAt,
    token.expiresAt ?? 'never',
  ]);
  print(renderTable(['ID', 'USER', 'LABEL', 'SCOPES', 'STATUS', 'CREATED', 'EXPIRES'], rows, process.stdout));
}

function describe(token: StoredToken, now: number) {
  const { id, label, scopes, createdAt, expiresAt, revokedAt } = token;
  return {
    id,
    user: token.user.name,
    label,
    scopes,
    status: statusOf(token, now),
    createdAt: isoTime(createdAt),
    expiresAt: expiresAt === undefined ? null : isoTime(expiresAt),
    revokedAt: revokedAt === undefined ? null : isoTime(revokedAt),
  };
}

function statusOf({ expiresAt, revokedAt }: StoredToken, now: number): 'live' | 'expired' | 'revoked' {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'live';
}

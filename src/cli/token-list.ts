import type { Command } from 'commander';
import { examplesFirst } from './examples.ts';
import { isUser, unknownUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { renderTable } from './table.ts';
import { print, printJson, say } from './terminal.ts';
import { describeToken, tokenMembers } from './token-view.ts';

/** `token list` */
export function tokenList(token: Command): void {
  token
    .command('list')
    .description('list the tokens, oldest first, without the tokens themselves')
    .option('--user <name>', 'only those of this user')
    .option('--json', `print a JSON array of ${tokenMembers}`)
    .addOption(settingOption('dataDir'))
    .configureHelp(
      examplesFirst(
        'token list',
        'token list --user ann',
        `token list --json | jq -r '.[] | select(.status == "live") | .id'`,
      ),
    )
    .action(run);
}

async function run(flags: StoreFlags & { user?: string; json?: true }): Promise<void> {
  const { user } = flags;
  const tokens = await withStore(flags, async ({ store, runtime }) => {
    if (user !== undefined && !(await isUser(store, user))) throw unknownUser(user);
    const now = runtime.clock.now();
    const asked = (await store.tokens()).filter((token) => user === undefined || token.user.name === user);
    return asked.map((token) => describeToken(token, now));
  });
  if (flags.json) return printJson(tokens);
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
  print(...renderTable(['ID', 'USER', 'LABEL', 'SCOPES', 'STATUS', 'CREATED', 'EXPIRES'], rows));
}

import type { Command } from 'commander';
import { examplesFirst } from './examples.ts';
import { parseTokenId } from './ids.ts';
import { unknownToken } from './missing-token.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { renderFields } from './table.ts';
import { print, printJson } from './terminal.ts';
import { describeToken, type TokenView, tokenMembers } from './token-view.ts';

/** `token show ID` */
export function tokenShow(token: Command): void {
  token
    .command('show')
    .description('show all that is kept of a token; the token itself is not kept')
    .argument('<id>', 'the id that token list shows: tok_…', parseTokenId)
    .option('--json', `print a JSON object ${tokenMembers}`)
    .addOption(settingOption('dataDir'))
    .configureHelp(
      examplesFirst(
        'token show tok_01k0c3t2v4x5y6z7a8b9c0d1e2',
        'token show tok_01k0c3t2v4x5y6z7a8b9c0d1e2 --json | jq -r .status',
      ),
    )
    .action(run);
}

async function run(id: string, flags: StoreFlags & { json?: true }): Promise<void> {
  const token = await withStore(flags, async ({ store, runtime }) => {
    const found = (await store.tokens()).find((one) => one.id === id);
    return found && describeToken(found, runtime.clock.now());
  });
  if (token === undefined) throw unknownToken(id);
  if (flags.json) return printJson(token);
  const fields = [
    ['ID', token.id],
    ['User', token.user],
    ['Label', token.label || undefined],
    ['Scopes', token.scopes.join(', ')],
    ['Status', statusInWords(token)],
    ['Created', token.createdAt],
    ['Expires', token.expiresAt ?? 'never'],
    ['Replaced by', token.replacedBy ?? undefined],
    ['Set by', token.isBootstrap ? 'BOOTSTRAP_TOKEN' : undefined],
  ] as const;
  print(...renderFields(fields));
}

function statusInWords({ status, expiresAt, revokedAt }: TokenView): string {
  switch (status) {
    case 'revoked':
      return `revoked at ${revokedAt}: it is refused`;
    case 'expired':
      return `expired at ${expiresAt}: it is refused`;
    case 'disabled':
      return 'disabled: it is refused until its user is enabled';
    case 'live':
      return 'live';
  }
}

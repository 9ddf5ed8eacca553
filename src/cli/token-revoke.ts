import type { Command } from 'commander';
import { examplesFirst } from './examples.ts';
import { parseTokenId } from './ids.ts';
import { unknownToken } from './missing-token.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say } from './terminal.ts';

/** `token revoke ID` */
export function tokenRevoke(token: Command): void {
  token
    .command('revoke')
    .description('end a token; a running service refuses it at once, on PostgreSQL each replica within 5 s')
    .argument('<id>', 'the id that token list shows: tok_…', parseTokenId)
    .addOption(settingOption('dataDir'))
    .configureHelp(examplesFirst('token revoke tok_01k0c3t2v4x5y6z7a8b9c0d1e2'))
    .action(run);
}

async function run(id: string, flags: StoreFlags): Promise<void> {
  const revoked = await withStore(flags, ({ store, runtime }) => store.revokeToken(id, runtime.clock.now()));
  if (!revoked) throw unknownToken(id);
  say(`Revoked the token ${id}.`);
}

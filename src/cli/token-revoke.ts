import { type Command, InvalidArgumentError } from 'commander';
import { examples } from './examples.ts';
import { Failure } from './failure.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { say } from './terminal.ts';

/** `token revoke ID` */
export function tokenRevoke(token: Command): void {
  token
    .command('revoke')
    .description('end a token; a running service refuses it at once')
    .argument('<id>', 'the id that token list shows: tok_…', parseId)
    .addOption(settingOption('dataDir'))
    .addHelpText('after', examples('token revoke tok_01k0c3t2v4x5y6z7a8b9c0d1e2'))
    .action(run);
}

async function run(id: string, flags: StoreFlags): Promise<void> {
  const revoked = await withStore(flags, ({ store, runtime }) => store.revokeToken(id, runtime.clock.now()));
  if (!revoked) throw new Failure(`There is no token ${id}. To see those there are: plant-store token list`);
  say(`Revoked the token ${id}.`);
}

function parseId(text: string): string {
  if (/^tok_[0-9a-z]+$/.test(text)) return text;
  throw new InvalidArgumentError('It is the id that is needed (tok_…), as token list shows it.');
}

import { type Command, InvalidArgumentError } from 'commander';
import { isScope, type Scope, scopes } from '../access/scopes.ts';
import { createToken, hashToken, isLabel, labelRule } from '../access/tokens.ts';
import { examplesFirst } from './examples.ts';
import { parseExpiry } from './expiry.ts';
import { missingUser } from './missing-user.ts';
import { settingOption } from './options.ts';
import { type StoreFlags, withStore } from './store.ts';
import { print, say, shellWord } from './terminal.ts';
import { durationRule } from './time.ts';

/** `token create --user NAME` */
export function tokenCreate(token: Command): void {
  token
    .command('create')
    .description('make a token and print it; it cannot be shown again')
    .requiredOption('--user <name>', 'the user that the token acts for')
    .option('--label <text>', `what the token is for: ${labelRule}`, parseLabel, '')
    .option(
      '--scopes <list>',
      `what it may do, separated by commas (default: ${scopes.join(',')})`,
      parseScopes,
    )
    .option('--expires-in <duration>', `${durationRule} (default: never)`, parseExpiry)
    .addOption(settingOption('dataDir'))
    .configureHelp(
      examplesFirst(
        'token create --user ann',
        "token create --user ann --label 'nightly import' --scopes plants:write --expires-in 90d",
      ),
    )
    .action(run);
}

type TokenFlags = StoreFlags & { user: string; label: string; scopes?: Scope[]; expiresIn?: number };

async function run(flags: TokenFlags): Promise<void> {
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
}

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

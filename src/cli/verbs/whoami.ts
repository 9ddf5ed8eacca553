import { connect } from '../api.ts';
import { type ApiFlags, readApi } from '../api-options.ts';
import { renderFields } from '../terminal/table.ts';
import { print, printJson } from '../terminal/terminal.ts';
import { option, type Verb } from '../verb.ts';

export const verb: Verb = {
  options: [option('--json', 'print the answer as a JSON object')],
  examples: ['whoami', 'whoami --profile work --json | jq -r .user'],
  isRemote: true,
  async run(flags: ApiFlags & { json?: true }) {
    const api = readApi(process.env, flags);
    const me = await connect(api).me();
    if (flags.json) return printJson(me);
    const { user, scopes, expiresAt = 'never' } = me;
    const fields = [
      ['User', user],
      ['Scopes', scopes.join(', ')],
      ['Expires', expiresAt],
      ['Service', api.url],
      ['Token', api.tokenFrom],
    ] as const;
    print(...renderFields(fields));
  },
};

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { PROGRAM } from '../../../testkit/processes/executable.ts';
import { run, withFolder } from '../../../testkit/processes/program.ts';
import { dataOf } from '../../../testkit/processes/remote.ts';

/** Sources the script, and prints what bash would offer after the words, one line for each list. */
const ASK = `source "$1"; shift
for line in "$@"; do
  COMP_LINE=$line COMP_POINT=\${#line} COMPREPLY=()
  _plant_store
  echo "\${COMPREPLY[*]}"
done`;

const expected: Readonly<Record<string, string>> = {
  'plant-store pla': 'plant',
  'plant-store plant ': 'list create delete import export',
  'plant-store plant export --format ': 'csv ndjson json',
  'plant-store plant export --format=nd': 'ndjson',
  'plant-store plant export --sha': '--shared',
  'plant-store plant list --qu': '--quiet',
  'plant-store --quiet delivery list wh_1 --state f': 'failed',
  'plant-store completion ': 'bash zsh fish',
  'plant-store plant list --profile ': 'home work',
  'plant-store webhook list --profile w': 'work',
  'plant-store token show --profile w': '',
  'plant-store plant create ': '',
  'plant-store token create --label ': '',
  'plant-store serve --log-level=de': 'debug',
  'plant-store serve --roles ': 'api dispatch api,dispatch',
  // bash replaces only what follows the last colon.
  'plant-store token create --scopes plants:': 'read write',
  'plant-store token create --scopes plants:read,tok': 'read,tokens:read read,tokens:write',
};

test('bash completes verbs, options, their values and the names of profiles', async () => {
  const script = dataOf(await run(['completion', 'bash']));
  await withFolder(async (folder) => {
    const at = (name: string) => join(folder, name);
    await Promise.all(['bin', 'plant-store'].map((name) => mkdir(at(name))));
    await symlink(PROGRAM, at('bin/plant-store'));
    await symlink(process.execPath, at('bin/node'));
    const profile = { url: 'https://example.com', token: 'x' };
    await writeFile(
      at('plant-store/config.json'),
      JSON.stringify({ profiles: { home: profile, work: profile } }),
    );
    await writeFile(at('completion'), script);
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      ['--norc', '-c', ASK, 'bash', at('completion'), ...Object.keys(expected)],
      { env: { PATH: `${at('bin')}:${process.env.PATH}`, XDG_CONFIG_HOME: folder } },
    );
    assert.equal(stderr, '');
    const lines = Object.keys(expected).map((line, index) => [line, stdout.split('\n')[index]]);
    assert.deepEqual(Object.fromEntries(lines), expected);
  });
});

for (const shell of ['zsh', 'fish']) {
  test(`the script for ${shell} knows every verb and its description`, async () => {
    const script = dataOf(await run(['completion', shell]));
    assert.match(script, /list your plants by id, then plants that others share with you/);
    assert.match(script, /'?plant export'?/);
    assert.match(script, /'?csv'? '?ndjson'? '?json'?/);
    // zsh runs the file as a function of its name at the first completion, which is to offer something, too.
    if (shell === 'zsh') assert.match(script, /funcstack\[1\]\} == _plant-store \]\]; then _plant_store/);
  });
}

test('an unknown shell is refused with the known ones', async () => {
  const { code, stdout, stderr } = await run(['completion', 'tcsh']);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /Allowed choices are bash, zsh, fish\./);
});

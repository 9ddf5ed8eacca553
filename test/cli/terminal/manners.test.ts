import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  launch,
  outcomeOf,
  run,
  untilGreeted,
  untilSaid,
  withFolder,
  withStoreFolder,
} from '../../../testkit/processes/program.ts';
import { startRemote } from '../../../testkit/processes/remote.ts';
import { commandOf, noTerminal, shownBy } from '../on-terminal.ts';

/** Starts a colour, or anything else that a terminal obeys. */
const ESCAPE = '\u001b';

const terminal = { skip: noTerminal() ?? false };

/** The verbs under the headings of a help text. */
const COMMANDS = /^(?:Other )?[Cc]ommands\b.*:\n((?: .*\n)+)/gm;

type Verb = { path: readonly string[]; help: string };

/** Every verb, including groups and the program, according to the program's own help. */
async function verbsFrom(path: readonly string[]): Promise<Verb[]> {
  const { code, stdout, stderr } = await run([...path, '--help']);
  assert.deepEqual({ path, code, stderr }, { path, code: 0, stderr: '' });
  const commands = [...stdout.matchAll(COMMANDS)].map(([, lines = '']) => lines).join('');
  const names = [...commands.matchAll(/^ {2}(\w\S*)/gm)].map(([, name = '']) => name);
  const found: Verb[] = [{ path, help: stdout }];
  // Not at once: each is a thread that loads the whole program.
  for (const name of names) found.push(...(await verbsFrom([...path, name])));
  return found;
}

const verbs = await verbsFrom([]);

test("every verb's help has a description and examples before its options, without colour", async (t) => {
  assert.ok(verbs.length > 40, `only ${verbs.length} verbs`);
  for (const { path, help } of verbs) {
    const name = ['plant-store', ...path].join(' ');
    await t.test(name, () => {
      assert.match(help, new RegExp(`^Usage: ${name} .*\n\n\\w`), 'there is no description');
      assert.match(help, /\n\nExamples:\n {2}\$ plant-store /);
      assert.ok(
        help.indexOf('\nExamples:') < help.search(/^(?:Arguments|Options):/m),
        'something comes before the examples',
      );
      assert.equal(help.split('Examples:').length, 2, 'there are two lists of examples');
      // The examples of a group, or of the program, show its verbs.
      assert.ok(help.includes(`  $ ${name}`), 'the examples are those of another verb');
      assert.match(help, /-h, --help/);
      assert.match(help, /-q, --quiet/);
      assert.ok(!help.includes(ESCAPE));
      const wide = help.split('\n').filter((line) => line.length > 80 && !/^(?:Usage:| )/.test(line));
      assert.deepEqual(wide, [], 'the text after the options is wider than a terminal');
    });
  }
});

test("a group's help shows the first example of each of its verbs", () => {
  const examplesIn = (help: string) =>
    [...help.matchAll(/^ {2}(\$ plant-store .*)$/gm)].map(([, text]) => text);
  const groups = verbs.filter(({ path, help }) => path.length === 1 && help.match(COMMANDS) !== null);
  assert.equal(groups.length, 7);
  for (const { path, help } of groups) {
    const below = verbs.filter((verb) => verb.path.length === 2 && verb.path[0] === path[0]);
    assert.deepEqual(
      examplesIn(help),
      below.map((verb) => examplesIn(verb.help)[0]),
    );
  }
});

test('every verb suggests an option for a misspelt one, and exits with 2', { concurrency: 4 }, async (t) => {
  const single = verbs.filter(({ help }) => help.match(COMMANDS) === null);
  const one = ({ path, help }: Verb) => {
    const [, own = '--quiet'] = /^ {2}(?:-\w, )?(--[a-z][a-z-]{3,})/m.exec(help) ?? [];
    const wrong = `${own.slice(0, -1)}x`;
    return t.test(`${path.join(' ')} ${wrong}`, async () => {
      const { code, stdout, stderr } = await run([...path, wrong]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, new RegExp(`^error: unknown option '${wrong}'\n\\(Did you mean (?:one of )?--`));
    });
  };
  await Promise.all(single.map(one));
});

for (const [args, meant] of [
  [['plnt', 'list'], 'plant'],
  [['plant', 'lst'], 'list'],
  [['-q', 'plant', 'exprot'], 'export'],
  [['lgoin'], 'login'],
  [['plnt', '--help'], 'plant'],
  [['help', 'plnt'], 'plant'],
  [['help', 'plant', 'lst'], 'list'],
  [['plant', 'remove', '7'], 'delete'],
  [['token', 'rm', 'tok_1'], 'revoke'],
  [['list'], 'plant list'],
  [['start'], 'serve'],
] as const) {
  test(`an unknown verb gets a suggestion: ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.ok(stderr.includes(`(Did you mean ${meant}?)`), stderr);
  });
}

test('help before a verb prints the same as --help after it', async () => {
  for (const [asked, args] of [
    [['help'], []],
    [['help', 'plant'], ['plant']],
    [
      ['help', 'plant', 'list'],
      ['plant', 'list'],
    ],
    [
      ['plant', 'help', 'list'],
      ['plant', 'list'],
    ],
  ] as const) {
    assert.deepEqual(await run(asked), await run([...args, '--help']));
  }
});

test('a misspelt option is reported before the missing one', async () => {
  for (const args of [
    ['token', 'create', '--usr', 'ann'],
    ['token', 'create', '--label', '--user', '--usr', 'ann'],
    ['-q', 'share', 'add', '--owner=ann', '--vewer', 'bob'],
  ]) {
    assert.match((await run(args)).stderr, /^error: unknown option '--(?:usr|vewer)'\n\(Did you mean/);
  }
  const { code, stderr } = await run(['token', 'create', '--label', '--usr']);
  assert.deepEqual([code, stderr.split('\n')[0]], [2, 'error: --user or --own is needed']);
});

test('--quiet, anywhere, limits standard error to errors', async (t) => {
  const { verb } = await startRemote(t);
  for (const args of [
    ['--quiet', 'plant', 'create', 'Alder'],
    ['plant', '-q', 'create', 'Birch'],
    ['plant', 'create', 'Cedar', '-q'],
  ]) {
    const { code, stdout, stderr } = await verb(...args);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^\d+\n$/);
  }
  const { code, stderr } = await verb('plant', 'delete', '77', '-q');
  assert.deepEqual([code, stderr], [1, 'error: You have no plant with the id 77. (error 40401)\n']);
});

test('serve is quiet too, except for the first token, which is shown only once', async () => {
  await withFolder(async (folder) => {
    const child = launch(['serve', '--port', '0', '--quiet'], { DATA_DIR: folder });
    const ended = outcomeOf(child);
    assert.match(await untilGreeted(child, ended), /pst_\w{38}/);
    child.kill('SIGTERM');
    await ended;
    const again = launch(['serve', '--port', '0', '--quiet'], { DATA_DIR: folder });
    const endedAgain = outcomeOf(again);
    await untilSaid(again.stdout, 'Server listening at', endedAgain);
    again.kill('SIGTERM');
    assert.deepEqual([(await endedAgain).code, (await endedAgain).stderr], [0, '']);
  });
});

test('a line that shows progress is cut to the width of the terminal', terminal, async () => {
  await withStoreFolder(async (folder) => {
    const backup = commandOf(['backup', join(folder, 'plants.backup'), '--data-dir', folder]);
    const shown = await shownBy(`stty cols 10; ${backup}`);
    // `[2K` clears the line on which the cursor is, and no other.
    assert.ok(shown.includes(`${ESCAPE}[2KChecking ${ESCAPE}`), shown);
  });
});

test('colour appears on terminals, elsewhere with FORCE_COLOR, and never with NO_COLOR', async (t) => {
  const { env, plant } = await startRemote(t);
  await plant('{"name":"Alder"}');
  const list = async (more: Record<string, string>) =>
    (await run(['plant', 'list'], { ...env, ...more })).stdout;
  assert.ok(!(await list({})).includes(ESCAPE));
  assert.ok((await list({ FORCE_COLOR: '1' })).includes(ESCAPE));
  assert.ok(!(await list({ NO_COLOR: '1' })).includes(ESCAPE));
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const INTRODUCTION = `# Command line

In a checkout of the project, first run \`export PATH="$PWD/bin:$PATH"\` in its folder. [Use the command
line](../how-to/use-the-command-line.md) is a tour; this is the complete reference, with a page for each command.

- \`serve\`, \`user\`, \`token\`, \`share\`, \`backup\` and \`doctor\` work on the store, even while servers run on it;
  \`restore\` requires that none runs. The store is in the data folder or, with \`DATABASE_URL\`, in a PostgreSQL database,
  which \`migrate\` and \`copy\` are for.
- \`plant\`, \`webhook\`, \`delivery\`, \`event\`, \`listen\`, \`status\` and \`whoami\` talk to a running service, from
  anywhere.

## Where the service is, and as whom

Verbs take the URL and the token from the first of these that sets them:

1. the flags \`--url\` and \`--token\`
2. the profile that \`--profile\` names, saved by \`plant-store login\`
3. the environment variables \`PLANT_STORE_URL\` and \`PLANT_STORE_TOKEN\`; with this token, the URL never comes from a
   profile
4. the profile that \`PLANT_STORE_PROFILE\` names, otherwise the profile \`default\`
5. for the URL, \`http://127.0.0.1:3000\`

A profile is a URL and a token in \`$XDG_CONFIG_HOME/plant-store/config.json\`, otherwise in
\`~/.config/plant-store/config.json\`. Only its owner can read the file. A profile's token is sent only to that profile's
URL.

## Output and exit codes

Standard output contains only data (a token, a table, JSON). Messages go to standard error; \`--quiet\`, anywhere on the
command line, limits them to errors, questions and what is shown only once. Colour is for terminals; \`NO_COLOR\` turns it
off, \`FORCE_COLOR\` turns it on elsewhere.

| Exit code | |
|---|---|
| 0 | Success. Also \`serve\` after SIGTERM or SIGINT. |
| 1 | Failure, perhaps partial: standard error says what failed and what to do. |
| 2 | Wrong usage or a wrong setting. Nothing was done. |
| 128 + a signal's number | A signal stopped it: 130 after Ctrl+C. \`serve\` only after a second signal, before it had stopped, or in the first moment of its start. |`;

/** The index of the commands and a page for each, with the help of its verbs as the program prints it. */
export async function cliPages(): Promise<Map<string, string>> {
  const [program, ...sections] = await helpOf([[]]);
  const pages = Map.groupBy(sections, ({ verb: [noun = ''] }) => noun);
  const items = [...pages].map(
    ([noun, [first]]) => `- [\`${noun}\`](cli/${noun}.md): ${descriptionIn(first?.help)}`,
  );
  const index = [INTRODUCTION, '## Commands', items.join('\n'), '## Help', block(program?.help)];
  return new Map([
    ['cli.md', index.join('\n\n')],
    ...[...pages].map(([noun, group]): [string, string] => [`cli/${noun}.md`, nounPage(group)]),
  ]);
}

function nounPage(sections: readonly Section[]): string {
  return sections
    .map(({ verb, help }, n) => `${n === 0 ? '#' : '##'} plant-store ${verb.join(' ')}\n\n${block(help)}`)
    .join('\n\n');
}

function block(help = ''): string {
  return `\`\`\`text\n${help.trim()}\n\`\`\``;
}

/** The second paragraph. */
function descriptionIn(help = ''): string {
  return help.split('\n\n')[1]?.replaceAll('\n', ' ') ?? '';
}

type Section = { verb: readonly string[]; help: string };

/** The help of these verbs, then of those below them. */
async function helpOf(verbs: readonly Section['verb'][]): Promise<Section[]> {
  if (verbs.length === 0) return [];
  const helps = await run(verbs);
  const sections = verbs.map((verb, n) => ({ verb, help: helps[n] ?? '' }));
  const below = sections.flatMap(({ verb, help }) => verbsIn(help).map((name) => [...verb, name]));
  return [...sections, ...(await helpOf(below))];
}

/** The names under the "Commands" headings of a help text. */
function verbsIn(help: string): string[] {
  const commands = [...help.matchAll(/^(?:Other )?[Cc]ommands\b.*:\n((?: .*\n)+)/gm)].map(
    ([, lines]) => lines,
  );
  return [...commands.join('').matchAll(/^ {2}(\S+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help');
}

/** Prints the help of several verbs, since a process for each would take seconds. */
const PROGRAM = `
  const { main } = await import('${new URL('../../src/cli/main.ts', import.meta.url)}');
  for (const verb of JSON.parse(process.argv[1])) {
    await main([...verb, '--help']);
    process.stdout.write('\\0');
  }`;

/** Runs without a terminal and without this machine's settings, so that the text is the same everywhere. */
async function run(verbs: readonly Section['verb'][]): Promise<string[]> {
  const program = ['--input-type=module', '--eval', PROGRAM, JSON.stringify(verbs)];
  const { stdout } = await promisify(execFile)(process.execPath, program, {
    env: { PATH: process.env.PATH },
  });
  return stdout.split('\0');
}

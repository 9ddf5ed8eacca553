import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const INTRODUCTION = `# Command line

In the project's folder the program is \`npx plant-store\`. How to use it is told in
[Use the command line](../how-to/use-the-command-line.md); this is all there is.

- \`serve\`, \`user\`, \`token\`, \`share\`, \`backup\` and \`doctor\` work on the store, beside running servers; \`restore\` while
  none runs. The store is in the data folder or, with \`DATABASE_URL\`, in a PostgreSQL database, which \`migrate\` and
  \`copy\` are for.
- \`plant\`, \`webhook\`, \`delivery\`, \`listen\` and \`status\` talk to a running service, from anywhere.

## Where the service is, and as whom

Each of them counts where those before it say nothing:

1. the flags \`--url\` and \`--token\`
2. \`--profile\`: what \`plant-store login\` has saved under this name
3. the environment variables \`PLANT_STORE_URL\` and \`PLANT_STORE_TOKEN\`; with this token the URL is never that of a
   profile
4. the profile that \`PLANT_STORE_PROFILE\` names, else the one called \`default\`
5. for the URL, \`http://127.0.0.1:3000\`

A profile is a URL and a token in \`$XDG_CONFIG_HOME/plant-store/config.json\`, else in
\`~/.config/plant-store/config.json\`, which its owner alone may read. Its token is sent to its URL, and to no other.

## Output and exit codes

Standard output carries data only (a token, a table, JSON); everything that is said to a person goes to standard error,
where \`--quiet\`, at any place of the command line, leaves what went wrong, questions, and what is shown only once.
Colour is for terminals; \`NO_COLOR\` takes it away, \`FORCE_COLOR\` asks for it elsewhere, too.

| Exit code | |
|---|---|
| 0 | It is done. Also \`serve\` after SIGTERM or SIGINT, and \`listen\` after Ctrl+C. |
| 1 | It failed, or a part of it: standard error says what, and what to do next. |
| 2 | The usage or a setting is wrong. Nothing was done. |
| 128 + a signal's number | A second signal ended what the first was to stop. |`;

/** The help of the program and of every verb, as the program itself prints it. */
export async function cliPage(): Promise<string> {
  const sections = (await helpOf([])).map(
    ({ verb, help }) => `## ${verb}\n\n\`\`\`text\n${help.trim()}\n\`\`\``,
  );
  return [INTRODUCTION, ...sections].join('\n\n');
}

type Section = { verb: string; help: string };

/** Of a verb and of all verbs below it. */
async function helpOf(verb: readonly string[]): Promise<Section[]> {
  const help = await run([...verb, '--help']);
  const below = await Promise.all(verbsIn(help).map((name) => helpOf([...verb, name])));
  return [{ verb: ['plant-store', ...verb].join(' '), help }, ...below.flat()];
}

/** The names under "Commands:", or under the headings of several groups of them, in a help text. */
function verbsIn(help: string): string[] {
  const commands = [...help.matchAll(/^(?:Other )?[Cc]ommands\b.*:\n((?: .*\n)+)/gm)].map(
    ([, lines]) => lines,
  );
  return [...commands.join('').matchAll(/^ {2}(\S+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help');
}

const PROGRAM = fileURLToPath(new URL('../../bin/plant-store', import.meta.url));

/** Without a terminal and without settings of this machine, so that the text is the same everywhere. */
async function run(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH },
  });
  return stdout;
}

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const INTRODUCTION = `# Command line

In the project's folder the program is \`npx plant-store\`. \`serve\`, \`user\`, \`token\` and \`share\` work on the store, beside
running servers: in the data folder or, with \`DATABASE_URL\`, in a PostgreSQL database, which \`migrate\` and \`copy\` are for.
\`webhook\`, \`delivery\` and \`listen\` talk to a running service, from anywhere: \`PLANT_STORE_URL\` says where it is,
\`PLANT_STORE_TOKEN\` as whom.

Standard output carries data only (a token, a table, JSON); everything that is said to a person goes to standard error.
The exit code is 0 when it is done, 1 when it failed, 2 when the usage or a setting is wrong. \`serve\` ends with 0
after SIGTERM or SIGINT; a second signal ends it at once with 128 + the number of the signal. \`listen\` ends with 0 at
Ctrl+C.`;

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

/** The names under "Commands:" in a help text. */
function verbsIn(help: string): string[] {
  const [, commands = ''] = /^Commands:\n((?: .*\n)+)/m.exec(help) ?? [];
  return [...commands.matchAll(/^ {2}(\S+)/gm)]
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

import {
  type Config,
  ConfigError,
  type Flags,
  readConfig,
  readStoreConfig,
  type StoreConfig,
  servingLock,
  storePath,
} from '../../config/config.ts';
import { isServed } from '../../store/sqlite/files/lock.ts';
import type { StoreSummary } from '../../store/sqlite/files/summary.ts';
import { counted, print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { option, settingOptions, type Verb } from '../verb.ts';
import { type Finding, ok, problem, reasonIn, type Verdict } from './check.ts';
import { checkDatabase } from './database.ts';
import { checkFolder, whyUnusable } from './folder.ts';
import { checkProvider, checkService, isAnswering } from './service.ts';
import { checkStore } from './store.ts';
import { checkReceivers } from './webhooks.ts';

export const verb: Verb = {
  options: [
    ...settingOptions(),
    option(
      '--json',
      'print a JSON array of {name, verdict, text, advice}; verdict is ok, warning or problem',
    ),
  ],
  examples: ['doctor', 'doctor --data-dir /var/lib/plant-store --json'],
  notes: `Checks everything the service needs, and says what is wrong and what to do: Node, settings, data folder, disk, store or
database, clock, server and ports, identity provider, the receivers of webhooks. Run it where the service runs, as the
same user and with the same settings. It changes nothing, sends nothing to receivers and does not disturb a running
service.

The exit code is 1 if there is a problem, and 0 if there are only warnings.`,
  run,
};

async function run({ json, ...flags }: Flags & { json?: true }): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of examine(flags)) {
    if (!json) show(finding);
    findings.push(finding);
  }
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems > 0) process.exitCode = 1;
  if (json) return printJson(findings);
  if (problems + warnings === 0) say('Everything is fine.');
  else say(`${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`);
}

async function* examine(flags: Flags): AsyncGenerator<Finding> {
  // Not whether it is new enough: no older one gets here.
  yield ok('Node', process.versions.node);
  const config = yield* checkSettings(flags);
  const store = config ?? errorOr(() => readStoreConfig(process.env, flags));
  // Without valid settings the store cannot be found; the findings say which are wrong.
  if (store instanceof ConfigError) return;
  const { databaseUrl } = store;
  const summary = yield* databaseUrl
    ? checkDatabase(databaseUrl, store, config?.databaseConnections)
    : checkFolderAndServer(store, config);
  if (config === undefined) return;
  if (databaseUrl) yield* checkService(config, await isAnswering(config));
  yield* checkProvider(config);
  if (summary?.receivers) yield* await checkReceivers(summary.receivers, config.webhookAllowedNetworks);
}

/** Reports all invalid settings at once. Returns the configuration if there are none. */
function* checkSettings(flags: Flags): Generator<Finding, Config | undefined> {
  const config = errorOr(() => readConfig(process.env, flags));
  if (!(config instanceof ConfigError)) {
    yield ok('Settings', 'valid');
    return config;
  }
  for (const text of config.problems) {
    yield problem('Settings', text, 'Correct it; plant-store serve --help lists the settings.');
  }
  return undefined;
}

/** Returns what the store tells if it can be read. */
async function* checkFolderAndServer(
  { dataDir }: StoreConfig,
  config: Config | undefined,
): AsyncGenerator<Finding, StoreSummary | undefined> {
  const unusable = whyUnusable(dataDir);
  yield* unusable ? [unusable] : checkFolder(dataDir);
  // It explains everything else.
  const isExplained = unusable !== undefined;
  const server = lookForServer(servingLock(dataDir));
  const summary = yield* checkStore(storePath(dataDir), isExplained, server !== false);
  const served = isExplained && !summary ? false : server;
  if (typeof served === 'object') yield served;
  else if (config) yield* checkService(config, served);
  return summary;
}

/** Whether a server runs; a finding if the lock does not tell. */
function lookForServer(lock: string): boolean | Finding {
  try {
    return isServed(lock);
  } catch (error) {
    const text = `whether one runs is unknown: ${lock} cannot be read (${reasonIn(error)})`;
    const give = `To give the file to that user: chown USER ${shellWord(lock)}`;
    return problem('Server', text, `Run doctor as the user of the service. ${give}`);
  }
}

function errorOr<T>(read: () => T): T | ConfigError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

const colours = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

function show({ name, verdict, text, advice }: Finding): void {
  const mark = { style: colours[verdict], text: verdict.padEnd('problem'.length) };
  print([[mark, '  ', { style: 'bold', text: name }, `: ${text}`]]);
  if (advice !== undefined) print([`         ${advice}`]);
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Config,
  ConfigError,
  type Flags,
  readConfig,
  readStoreConfig,
  type StoreConfig,
  storePath,
} from '../../config/config.ts';
import type { DatabaseUrl } from '../../config/database-url.ts';
import { isServed, removeEmptyLog } from '../../store/sqlite/files/summary.ts';
import { counted, print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { option, settingOptions, type Verb } from '../verb.ts';
import { type Finding, problem, reasonIn, type Verdict } from './check.ts';
import { lookAtDatabase } from './database.ts';
import { checkFolder } from './folder.ts';
import { checkClock, checkNode, checkSettings } from './machine.ts';
import { checkProvider, checkService } from './service.ts';
import { checkIntegrity, lookAtStore } from './store.ts';
import { checkReceivers, type Receiver } from './webhooks.ts';

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
  const findings = await examine(flags, json ? () => {} : show);
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems > 0) process.exitCode = 1;
  if (json) return printJson(findings);
  if (problems + warnings === 0) say('Everything is fine.');
  else say(`${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`);
}

async function examine(flags: Flags, tell: (finding: Finding) => void): Promise<Finding[]> {
  const findings: Finding[] = [];
  const add = (more: readonly Finding[]) => {
    for (const finding of more) tell(finding);
    findings.push(...more);
  };
  add(checkNode());
  add(checkSettings(process.env, flags));
  const config = valid(() => readConfig(process.env, flags));
  const store = config ?? valid(() => readStoreConfig(process.env, flags));
  // Without valid settings the store cannot be found; the findings say which are wrong.
  if (store === undefined) return findings;
  const receivers = store.databaseUrl
    ? await examineDatabase(store.databaseUrl, store, config, add)
    : await examineFolder(store, config, add);
  if (config === undefined) return findings;
  add(await checkProvider(config));
  if (receivers !== undefined) add(await checkReceivers(receivers, config.webhookAllowedNetworks));
  return findings;
}

type Add = (findings: readonly Finding[]) => void;

/** Returns the receivers of webhooks if the store can be read. */
async function examineFolder(
  { dataDir }: StoreConfig,
  config: Config | undefined,
  add: Add,
): Promise<readonly Receiver[] | undefined> {
  const folder = checkFolder(dataDir);
  add(folder);
  const path = storePath(dataDir);
  const hadLog = existsSync(`${path}-wal`);
  const { findings, summary } = lookAtStore(path);
  // A missing or unreadable folder explains everything else.
  if (folder[0]?.verdict !== 'ok' && summary === undefined) {
    if (config) add(await checkService(config, false));
    return undefined;
  }
  add(findings);
  if (summary) add(await checkIntegrity(path));
  if (summary && !hadLog) removeEmptyLog(path);
  if (summary) add(checkClock(summary.newestEventAt, Date.now()));
  const served = lookForServer(join(dataDir, 'serving.lock'));
  if (typeof served === 'object') add([served]);
  else if (config) add(await checkService(config, served));
  return summary?.receivers;
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

async function examineDatabase(
  url: DatabaseUrl,
  store: StoreConfig,
  config: Config | undefined,
  add: Add,
): Promise<readonly Receiver[] | undefined> {
  const { findings, summary } = await lookAtDatabase(url, store, config?.databaseConnections);
  add(findings);
  return summary?.receivers;
}

function valid<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

const marks: Readonly<Record<Verdict, { text: string; colour: 'green' | 'yellow' | 'red' }>> = {
  ok: { text: 'ok     ', colour: 'green' },
  warning: { text: 'warning', colour: 'yellow' },
  problem: { text: 'problem', colour: 'red' },
};

function show({ name, verdict, text, advice }: Finding): void {
  const { text: mark, colour } = marks[verdict];
  print([{ style: colour, text: mark }, '  ', { style: 'bold', text: name }, `: ${text}`]);
  if (advice !== undefined) print(`         ${advice}`);
}

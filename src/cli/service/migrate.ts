import { InvalidArgumentError } from 'commander';
import { ConfigError, readStoreConfig } from '../../config/config.ts';
import { parseCount } from '../../config/values.ts';
import { database as limits } from '../../limits.ts';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { Failure } from '../failure.ts';
import { printJson, say } from '../terminal/terminal.ts';
import { option, settingOption, type Verb } from '../verb.ts';
import { onDatabase } from './database-failure.ts';

type MigrateFlags = { partitions?: number; json?: true; databasePooler?: string };

export const verb: Verb = {
  options: [
    option(
      '--partitions <number>',
      'divide the tables that grow into so many partitions by owner, from 2 to 1024; only when the store is made',
      parsePartitions,
    ),
    option('--json', 'print JSON: {applied, partitions}; partitions is 0 for tables that are not divided'),
    settingOption('databasePooler'),
  ],
  examples: ['migrate', 'migrate --partitions 8'],
  notes: `Makes the store in the database that DATABASE_URL names, or brings its schema up to date. Every start of the service does
the same; this does it without one: as a role that may make tables, say, or with partitions. Programs that do it at the
same time wait for each other, and each migration is a transaction: all of it, or nothing.

Replicas of the version before go on working beside it, so that a rolling update replaces one after the other: every
migration says which is the oldest version that understands the schema behind it. Only a replica that is older than that
does not start any more.`,
  run,
};

async function run({ partitions, json, databasePooler }: MigrateFlags): Promise<void> {
  const config = readStoreConfig(process.env, databasePooler === undefined ? {} : { databasePooler });
  const { databaseUrl: url } = config;
  if (url === undefined)
    throw new ConfigError(['DATABASE_URL: It is not set; it names the database in which the store is made.']);
  const [{ openDatabase }, { divisionOf, migrate }] = await Promise.all([
    import('../../store/postgres/engine/database.ts'),
    import('../../store/postgres/engine/migrate.ts'),
  ]);
  const { clock, log } = systemRuntime(silentLog);
  const pooled = config.databasePooler === 'transaction';
  const database = openDatabase({ url, pooled, log, connections: limits.connectionsOfVerb });
  await onDatabase(url, async () => {
    const before = await divisionOf(database);
    if (partitions !== undefined && before !== undefined) throw madeBefore(before);
    const applied = await migrate(database, { now: clock.now(), partitions, onWait });
    tell(applied, (await divisionOf(database)) ?? 0, json);
  }).finally(database.close);
}

function onWait(): void {
  say('The schema waits for a long transaction, such as pg_dump, and is tried again until that is over.');
}

function madeBefore(partitions: number): Failure {
  return new Failure(
    `The store is there already, ${partitions === 0 ? 'without partitions' : `with ${partitions} partitions`}: that is settled when it is made.`,
  );
}

function tell(applied: readonly string[], partitions: number, json: true | undefined): void {
  if (json) printJson({ applied, partitions });
  else if (applied.length === 0) say('The schema is up to date.');
  else say(`Brought the schema up to date: ${applied.join(', ')}.`);
}

function parsePartitions(text: string): number {
  try {
    return parseCount('number of partitions', limits.mostPartitions, 2)(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

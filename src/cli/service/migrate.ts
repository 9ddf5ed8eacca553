import { InvalidArgumentError } from 'commander';
import { ConfigError, type Flags, readStoreConfig } from '../../config/config.ts';
import { parseCount } from '../../config/values.ts';
import { database as limits } from '../../limits.ts';
import { silentLog, systemRuntime } from '../../runtime.ts';
import { Failure } from '../failure.ts';
import { printJson, say } from '../terminal/terminal.ts';
import { option, settingOption, type Verb } from '../verb.ts';
import { onDatabase } from './database-failure.ts';
import { sayMigrationWaits } from './store.ts';

type MigrateFlags = Flags & { partitions?: number; json?: true };

export const verb: Verb = {
  options: [
    option(
      '--partitions <number>',
      'how many partitions, by owner, to divide growing tables into, from 2 to 1024; only when creating the store',
      parsePartitions,
    ),
    option('--json', 'print JSON: {applied, partitions}; partitions is 0 for undivided tables'),
    settingOption('databasePooler'),
  ],
  examples: ['migrate', 'migrate --partitions 8'],
  notes: `Creates the store in the database named by DATABASE_URL, or migrates its schema. Every start of the service does the
same; use this to do it separately, for example as a role that may create tables, or to create partitions. Concurrent
migrations wait for each other, and each migration is one transaction. The first one locks all partitions: before you
create more than 400, raise the server's max_locks_per_transaction (64 by default).

Replicas of the previous version keep working, so a rolling update can replace them one by one. Each migration names the
oldest version that understands the new schema; only replicas older than that no longer start.`,
  run,
};

async function run({ partitions, json, ...flags }: MigrateFlags): Promise<void> {
  const { databaseUrl: url, databasePooler } = readStoreConfig(process.env, flags);
  if (url === undefined)
    throw new ConfigError(['DATABASE_URL: Not set. It names the database in which to create the store.']);
  const [{ openDatabase }, { divisionOf, migrate }] = await Promise.all([
    import('../../store/postgres/engine/database.ts'),
    import('../../store/postgres/engine/migrate.ts'),
  ]);
  const { clock, log } = systemRuntime(silentLog);
  const pooled = databasePooler === 'transaction';
  const database = openDatabase({ url, pooled, log, connections: limits.connectionsOfVerb });
  await onDatabase(url, async () => {
    const before = await divisionOf(database);
    if (partitions !== undefined && before !== undefined) throw madeBefore(before);
    const applied = await migrate(database, { now: clock.now(), partitions, onWait: sayMigrationWaits });
    tell(applied, (await divisionOf(database)) ?? 0, json);
  }).finally(database.close);
}

function madeBefore(partitions: number): Failure {
  return new Failure(
    `The store already exists, ${partitions === 0 ? 'without partitions' : `with ${partitions} partitions`}. Partitions can only be set when it is created.`,
  );
}

function tell(applied: readonly string[], partitions: number, json: true | undefined): void {
  if (json) printJson({ applied, partitions });
  else if (applied.length === 0) say('The schema is up to date.');
  else say(`Migrated the schema: ${applied.join(', ')}.`);
}

function parsePartitions(text: string): number {
  try {
    return parseCount('number of partitions', limits.mostPartitions, 2)(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../../errors.ts';
import type { Once } from '../../../idempotency/port.ts';
import type { BatchResult } from '../../batch.ts';
import { outcomeUnknown, unavailable } from '../../failures.ts';
import { fault, USER_GONE } from '../../once.ts';
import { shareWrites } from '../access/shares.ts';
import { tokenWrites } from '../access/tokens.ts';
import { activeUsers, userWrites } from '../access/users.ts';
import { choreWrites } from '../deliveries/chores.ts';
import { deliveryWrites } from '../deliveries/deliveries.ts';
import { type Announced, type OutboxWrites, outboxWrites } from '../deliveries/outbox.ts';
import { outcomeWrites } from '../deliveries/outcomes.ts';
import { webhookWrites } from '../deliveries/webhooks.ts';
import { idempotencyWrites } from '../plants/idempotency.ts';
import { plantWrites } from '../plants/plants.ts';
import { countLogPages } from './checkpoint.ts';
import { COMMIT_FAILED, explain, isDamage, isEnvironment, isUnknownOutcome } from './failure.ts';
import type { StoreFiles } from './store-files.ts';

/** Every write of the store, by name. */
export type Writes = ReturnType<typeof createWrites>;
export type WriteName = keyof Writes;
/**
 * The name of a write, for whom it is, of a request with a key that, and the arguments of the function. Flat, because
 * what is nested takes longer to send to a thread.
 */
export type Command = readonly [
  name: WriteName,
  user: number | undefined,
  once: Once | undefined,
  ...args: unknown[],
];

export type Executed = BatchResult & { announced: Announced };

export type WriterRules = {
  /** How long after its event a delivery is due for the first time. */
  deliveryDelayMs: number;
  /** How many plants a user may have; undefined for any number. */
  maxPlantsPerUser?: number | undefined;
};

type Shared = {
  forgetUsers(): void;
  outbox: OutboxWrites;
  plants: ReturnType<typeof plantWrites>;
  keys: ReturnType<typeof idempotencyWrites>;
};

function createWrites(db: DatabaseSync, { outbox, plants, keys, forgetUsers }: Shared) {
  const webhooks = webhookWrites(db, outbox);
  const { removeSharesOf, ...shares } = shareWrites(db, outbox);
  return {
    createPlant: plants.create,
    deletePlant: plants.delete,
    createTest: outbox.createTest,
    keepAnswer: keys.keepAnswer,
    ...tokenWrites(db),
    ...shares,
    ...userWrites(db, { ...webhooks, outbox, removeSharesOf, forgetUsers }),
    ...webhooks,
    ...deliveryWrites(db, outbox),
    ...outcomeWrites(db),
    ...choreWrites(db, outbox),
  };
}

/**
 * Runs a batch of commands as one transaction. A command that fails is rolled back with its batch, and the
 * batch is run again one by one, so that it fails alone; a failing disk or a full one fails them all.
 *
 * Throws AppError 50302 when nothing was done and 50301 when the outcome is unknown. The cause is a `StoreFailure`, or
 * the error of SQLite.
 *
 * @param files whether they are in their place is looked at after each COMMIT; undefined for a store that has none, or
 *   of a program that ends soon
 */
export function createWriter(
  db: DatabaseSync,
  rules: WriterRules,
  files?: StoreFiles,
): (commands: Command[]) => Executed {
  const outbox = outboxWrites(db, rules.deliveryDelayMs);
  const plants = plantWrites(db, outbox.announce, rules.maxPlantsPerUser);
  const keys = idempotencyWrites(db);
  const users = activeUsers(db);
  const writes = createWrites(db, { outbox, plants, keys, forgetUsers: users.forget });
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const logPages = countLogPages(db);
  /** A write was refused; while the next one would be as well, it is not tried: nothing is done then, for certain. */
  let refused: unknown;

  function run([name, user, once, ...args]: Command): unknown {
    // The token was looked at when the request began, which may be long ago.
    if (user !== undefined && !users.isActive(user)) return USER_GONE;
    // The arguments were typed where the command was made (see `submit` in store.ts).
    const write = writes[name] as (...args: unknown[]) => unknown;
    return once ? keys.once(once, () => write(...args), effectOf(name)) : write(...args);
  }

  function transaction(commands: Command[]): Executed {
    begin.run();
    users.forget();
    plants.forgetIds();
    outbox.forgetSubscriptions();
    outbox.takeAnnounced();
    const outcomes = commands.map(run);
    plants.writeIds();
    // What is missing of the log SQLite would fill with a hole, behind which nothing is ever read.
    if (files?.isLogCut()) throw LOG_CUT;
    try {
      commit.run();
    } catch (error) {
      throw isUnknownOutcome(error) ? outcomeUnknown(COMMIT_FAILED, commitFailure(error)) : error;
    }
    // Written into files that nobody finds again: before anyone is told that it was done.
    const lost = files?.lossAfterCommit(db, logPages());
    if (lost) throw outcomeUnknown(FILES_LOST, lost);
    return { outcomes, failures: [], announced: outbox.takeAnnounced() };
  }

  /** A file system that admits no writes is taken for a disk that fails; the process goes on with it, for its reads. */
  function commitFailure(error: unknown): unknown {
    if (!files || isDamage(error)) return error;
    const failure = explain(error, { path: files.path, refusal: files.refusesWrite(), isCommit: true });
    if (!failure.isFinal) refused = error;
    return failure;
  }

  function refuseWhileRefused(): void {
    if (refused === undefined || !files) return;
    const refusal = files.refusesWrite();
    if (refusal !== undefined) throw unavailable(explain(refused, { path: files.path, refusal }));
    refused = undefined;
  }

  function attempt(commands: Command[]): Executed {
    refuseWhileRefused();
    try {
      return transaction(commands);
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      plants.forgetCounts();
      if (error instanceof AppError) throw error;
      if (error === LOG_CUT) return again(commands);
      if (isEnvironment(error)) throw unavailable(error);
      return commands.length === 1 ? failedWith(fault(error)) : oneByOne(commands);
    }
  }

  /** Outside of a transaction SQLite can tell whether another program shortened the log by its rules. */
  function again(commands: Command[]): Executed {
    const lost = files?.loss(db);
    if (lost) throw unavailable(lost);
    return attempt(commands);
  }

  function oneByOne(commands: Command[]): Executed {
    const all: Executed = { outcomes: [], failures: [], announced: nothing() };
    commands.forEach((command, index) => {
      const { outcomes, failures, announced } = alone(command);
      all.outcomes.push(outcomes[0]);
      all.failures.push(...failures.map(({ error }) => ({ index, error })));
      all.announced.work.push(...announced.work);
      all.announced.owners.push(...announced.owners);
      all.announced.changed.push(...announced.changed);
    });
    return all;
  }

  /** Others of the batch are committed by now: that nothing was done is true of this command only. */
  function alone(command: Command): Executed {
    try {
      return attempt([command]);
    } catch (error) {
      if (error instanceof AppError && error.code === 50302) return failedWith(error);
      throw error;
    }
  }

  return attempt;
}

const LOG_CUT = new Error('The write-ahead log is shorter than it was after the last commit');
const FILES_LOST = 'The files of the store were moved or changed while it committed';

/** Whether what a write that a POST ends in returned means that it did what was asked for. */
const effects: { readonly [K in WriteName]?: (outcome: ReturnType<Writes[K]>) => boolean } = {
  createPlant: (outcome) => typeof outcome === 'bigint',
  createWebhook: (outcome) => outcome,
  rotateSecret: (outcome) => outcome === 'rotated',
  createTest: (outcome) => outcome,
  redeliver: (outcome) => outcome === 'redelivered',
  startReplay: (outcome) => outcome,
};

function effectOf(name: WriteName): (outcome: unknown) => boolean {
  const hadEffect = effects[name];
  if (hadEffect === undefined) throw new Error(`It is not known when ${name} has an effect`);
  // It is given what the write of the same name returned.
  return hadEffect as (outcome: unknown) => boolean;
}

function failedWith(error: AppError): Executed {
  return { outcomes: [undefined], failures: [{ index: 0, error }], announced: nothing() };
}

function nothing(): Announced {
  return { work: [], owners: [], changed: [] };
}

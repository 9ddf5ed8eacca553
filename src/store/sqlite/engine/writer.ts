import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../../errors.ts';
import type { Once } from '../../../idempotency/port.ts';
import type { WriteRules } from '../../store.ts';
import { fault, outcomeUnknown, USER_GONE, unavailable } from '../../write-outcomes.ts';
import { shareWrites } from '../access/shares.ts';
import { tokenWrites } from '../access/tokens.ts';
import { activeUsers, userWrites } from '../access/users.ts';
import { choreWrites } from '../deliveries/chores.ts';
import { deliveryWrites } from '../deliveries/deliveries.ts';
import { type Announced, outboxWrites } from '../deliveries/outbox.ts';
import { outcomeWrites } from '../deliveries/outcomes.ts';
import { webhookWrites } from '../deliveries/webhooks.ts';
import { onceWith } from '../plants/idempotency.ts';
import { plantWrites } from '../plants/plants.ts';
import { type Versions, versionWrites } from '../plants/versions.ts';
import { countLogPages } from './checkpoint.ts';
import { COMMIT_FAILED, explain, isDamage, isEnvironment, isUnknownOutcome } from './failure.ts';
import type { StoreFiles } from './store-files.ts';

export type Writes = ReturnType<typeof createWrites>['writes'];
export type WriteName = keyof Writes;
/**
 * The name of a write, its user, the record for its key, and arguments. Flat: nested values are slow to pass to a
 * thread.
 */
export type Command = readonly [
  name: WriteName,
  user: number | undefined,
  once: Once | undefined,
  ...args: unknown[],
];

/** `outcomes`: as for `groupCommit`. */
export type Executed = { outcomes: unknown[]; announced: Announced };

export type WriterParts = WriteRules & { versions: Versions };

function createWrites(db: DatabaseSync, { versions, deliveryDelayMs, maxPlantsPerUser }: WriterParts) {
  const outbox = outboxWrites(db, deliveryDelayMs);
  const lists = versionWrites(db, versions);
  const plants = plantWrites(db, { ...outbox, ...lists }, maxPlantsPerUser);
  const users = activeUsers(db);
  const webhooks = webhookWrites(db, outbox);
  const { removeSharesOf, ...shares } = shareWrites(db, outbox);
  const writes = {
    createPlant: plants.create,
    deletePlant: plants.delete,
    createTest: outbox.createTest,
    /** Its effect is the record for its key. */
    keepAnswer: () => true,
    ...tokenWrites(db),
    ...shares,
    ...userWrites(db, { ...webhooks, outbox, removeSharesOf, forgetUsers: users.forget }),
    ...webhooks,
    ...deliveryWrites(db, outbox),
    ...outcomeWrites(db),
    ...choreWrites(db, outbox),
  };
  return { outbox, lists, plants, once: onceWith(db), users, writes };
}

/**
 * Runs a batch as one transaction. If a command fails, the batch is rolled back and its commands run one by one, so
 * that it fails alone; a failing or full disk fails them all.
 * @param files checked after each COMMIT; undefined for a store without files, or in a short-lived program
 * @throws AppError 50302 when nothing was done, 50301 when the outcome is unknown; its cause is a `StoreFailure` or
 *   an error of SQLite
 */
export function createWriter(
  db: DatabaseSync,
  parts: WriterParts,
  files?: StoreFiles,
): (commands: Command[]) => Executed {
  const { outbox, lists, plants, once, users, writes } = createWrites(db, parts);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const countPages = countLogPages(db);
  /**
   * Why the file system refused the last COMMIT. No write is tried until a small file can be written again, so it is
   * certain that nothing was done.
   */
  let notWritable: unknown;
  let isCommitted = false;

  function run([name, user, request, ...args]: Command): unknown {
    // The token was checked at the start of the request, which may be long ago.
    if (user !== undefined && !users.isActive(user)) return USER_GONE;
    // `submit` in store.ts has checked the types of the arguments.
    const write = writes[name] as (...args: unknown[]) => unknown;
    return request ? once(request, () => write(...args)) : write(...args);
  }

  function transaction(commands: Command[]): Executed {
    isCommitted = false;
    begin.run();
    lists.begin();
    users.forget();
    plants.ids.forget();
    outbox.forgetSubscriptions();
    outbox.takeAnnounced();
    const outcomes = commands.map(run);
    plants.ids.write();
    // SQLite would fill the missing part of the log with a hole, and data after a hole is never read.
    if (files?.isLogCut()) throw LOG_CUT;
    const logPages = lists.around(commitAndCount);
    // The commit went into files that nobody can find: fail before reporting success.
    const lost = files?.lossAfterCommit(db, logPages);
    if (lost) throw outcomeUnknown(FILES_LOST, lost);
    return { outcomes, announced: outbox.takeAnnounced() };
  }

  function commitAndCount(): number {
    try {
      commit.run();
    } catch (error) {
      throw isUnknownOutcome(error) ? outcomeUnknown(COMMIT_FAILED, commitFailure(error)) : error;
    }
    isCommitted = true;
    return countPages();
  }

  /** A file system that refuses writes looks like a failing disk; the process continues, for its reads. */
  function commitFailure(error: unknown): unknown {
    if (!files || isDamage(error)) return error;
    const failure = explain(error, { path: files.path, refusal: files.writeRefusal(), isCommit: true });
    if (!failure.isFinal) notWritable = error;
    return failure;
  }

  function refuseWhileNotWritable(): void {
    if (notWritable === undefined || !files) return;
    const refusal = files.writeRefusal();
    if (refusal !== undefined) throw unavailable(explain(notWritable, { path: files.path, refusal }));
    notWritable = undefined;
  }

  function attempt(commands: Command[]): Executed {
    refuseWhileNotWritable();
    try {
      return transaction(commands);
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      plants.counts?.forget();
      if (error instanceof AppError) throw error;
      if (isCommitted) throw outcomeUnknown(COMMIT_FAILED, commitFailure(error));
      if (error === LOG_CUT) return again(commands);
      if (isEnvironment(error)) throw unavailable(error);
      return commands.length === 1 ? failedWith(fault(error)) : oneByOne(commands);
    }
  }

  /** Outside a transaction SQLite knows whether another program shortened the log by its rules. */
  function again(commands: Command[]): Executed {
    const lost = files?.loss(db);
    if (lost) throw unavailable(lost);
    return attempt(commands);
  }

  function oneByOne(commands: Command[]): Executed {
    const all: Executed = { outcomes: [], announced: nothing() };
    for (const command of commands) {
      const { outcomes, announced } = alone(command);
      all.outcomes.push(...outcomes);
      all.announced.work.push(...announced.work);
      all.announced.owners.push(...announced.owners);
      all.announced.changed.push(...announced.changed);
    }
    return all;
  }

  /** The others of the batch may be committed by now: that nothing was done is true of this command only. */
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

function failedWith(error: AppError): Executed {
  return { outcomes: [error], announced: nothing() };
}

function nothing(): Announced {
  return { work: [], owners: [], changed: [] };
}

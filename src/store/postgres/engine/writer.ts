import { AppError } from '../../../errors.ts';
import type { Caller } from '../../../idempotency/port.ts';
import { database as limits } from '../../../limits.ts';
import type { EndedBatch, Measures, QueueReading } from '../../../observability/port.ts';
import { COMMAND_BYTES, groupCommit } from '../../batch.ts';
import { fault, refuseUndone } from '../../write-outcomes.ts';
import { forCaller } from '../plants/idempotency.ts';
import { type Announced, nothingAnnounced } from '../replicas/hints.ts';
import type { Bound, Database, Query, Row } from './database.ts';
import { sqlState, UNIQUE_VIOLATION } from './failure.ts';
import { lockUsers } from './locks.ts';

/** Work in a transaction of its own, whose statements depend on each other. May run again. */
export type Work<T> = (query: Query, announced: Announced) => Promise<T>;

/** A kind of command; many of them become one statement. */
export type Batched<T> = {
  /** The owners of what is written, and the callers. The transaction locks them before everything else. */
  users(commands: readonly T[]): readonly number[];
  /** Whether one statement of these commands locks the users itself, and so can be a transaction of its own. */
  locksUsers?(commands: readonly T[]): boolean;
  /**
   * Whether such a statement did nothing, because a user changed (`TOUCH_USERS`) while it waited for the lock: what else
   * it reads is older.
   */
  isLate?(rows: readonly Row[]): boolean;
  /**
   * Statements to run first, for all of the transaction's commands of this kind.
   * @param isRetry whether a concurrent write undid the first try
   */
  before?(commands: readonly T[], isRetry: boolean): readonly Bound[];
  bind(commands: readonly T[]): Bound;
  /** One outcome for each command, in order; an AppError for one that failed. */
  outcomes(rows: readonly Row[], commands: readonly T[], announced: Announced): readonly unknown[];
};

export type Command = BatchedCommand | AloneCommand;

type BatchedCommand = { kind: Batched<unknown>; args: unknown };
type AloneCommand = { work: Work<unknown> };

export function batched<T>(kind: Batched<T>, args: T): Command {
  // A kind only gets its own commands (`runsOf`).
  return { kind: kind as unknown as Batched<unknown>, args };
}

function alone(work: Work<unknown>, caller: Caller | undefined): Command {
  return { work: (query, announced) => forCaller(query, caller, () => work(query, announced)) };
}

export type Queues = ReturnType<typeof createQueues>;
export type Run = Queues['run'];

/** Queues the commands of requests for the writer. */
export function createQueues(write: Write, measures?: Measures) {
  const requests = groupCommit<Command>(write, {
    goTogether: (before, next) => isBatched(before) && isBatched(next),
    batchEnded: measures && ((batch: EndedBatch) => measures.batchEnded('writes', batch)),
    gathering: { many: limits.gatherMany, pauseMs: limits.gatherMs },
    patience: { beginMs: limits.beginMs, answerMs: limits.writeMs, checkMs: limits.lateCheckMs },
  });
  const submit = (command: Command, bytes: number, caller?: Caller) =>
    requests.submit(command, bytes, caller).then(refuseUndone);

  return {
    submit,
    /** Runs a request's work as a transaction of its own. */
    async run<T>(work: Work<T>, caller?: Caller) {
      // The outcome is what the work returns; `submit` throws when nothing was done.
      return (await submit(alone(work, caller), COMMAND_BYTES, caller)) as T;
    },
    /** Runs a slice of long work outside the queues, which must not wait for it. */
    async slice<T>(work: Work<T>) {
      const [outcome] = await write([alone(work, undefined)], () => true);
      if (outcome instanceof AppError) throw outcome;
      // As in `run`.
      return outcome as T;
    },
    isFull: requests.isFull,
    reading: (): QueueReading => ({ queue: 'writes', ...requests.waiting() }),
    close: requests.close,
  };
}

/** @param mayBegin called once a connection is available, before anything is sent */
export type Write = (commands: readonly Command[], mayBegin: () => boolean) => Promise<readonly unknown[]>;

/**
 * Commands that go together are one transaction in one round trip. If one fails, they run one by one, so it fails
 * alone.
 * @param publish called with what each transaction announced, after its commit; never rejects
 */
export function createWriter(database: Database, publish: (announced: Announced) => Promise<void>): Write {
  return carryOut;

  async function carryOut(
    commands: readonly Command[],
    mayBegin: () => boolean,
    isRetry = false,
  ): Promise<readonly unknown[]> {
    let done: Done;
    try {
      done = await transact(commands, mayBegin, isRetry);
    } catch (error) {
      if (error instanceof AppError) return commands.map(() => error);
      if (sqlState(error) === UNIQUE_VIOLATION && commands.every(isBatched) && !isRetry)
        return carryOut(commands, mayBegin, true);
      if (commands.length > 1)
        return (await Array.fromAsync(commands, (command) => carryOut([command], mayBegin))).flat();
      return [fault(error)];
    }
    // It is committed: a failure from here on must not run it again.
    try {
      const outcomes = done.outcomes();
      await publish(done.announced);
      return outcomes;
    } catch (error) {
      return commands.map(() => fault(error));
    }
  }

  function transact(commands: readonly Command[], mayBegin: () => boolean, isRetry: boolean): Promise<Done> {
    if (commands.every(isBatched)) return together(commands, mayBegin, isRetry);
    const [command] = commands;
    // `goTogether` keeps it out of transactions with others.
    if (command === undefined || commands.length > 1 || isBatched(command))
      throw new Error('These commands do not go together.');
    return single(command, mayBegin);
  }

  function single({ work }: AloneCommand, mayBegin: () => boolean): Promise<Done> {
    return database.transaction(async (query) => {
      // New for each try: an earlier one may have announced what was rolled back.
      const announced = nothingAnnounced();
      const outcome = await work(query, announced);
      return { announced, outcomes: () => [outcome] };
    }, mayBegin);
  }

  async function together(
    commands: readonly BatchedCommand[],
    mayBegin: () => boolean,
    isRetry: boolean,
  ): Promise<Done> {
    const runs = runsOf(commands);
    const [first, ...more] = runs;
    if (!isRetry && first && more.length === 0 && first.kind.locksUsers?.(first.args)) {
      const [rows = []] = await database.write([first.kind.bind(first.args)], mayBegin);
      if (first.kind.isLate?.(rows)) return together(commands, mayBegin, true);
      const announced = nothingAnnounced();
      return { announced, outcomes: () => first.kind.outcomes(rows, first.args, announced) };
    }
    const users = runs.flatMap(({ kind, args }) => kind.users(args));
    const before = [lockUsers(users)];
    for (const kind of new Set(runs.map((run) => run.kind))) {
      const own = runs.filter((run) => run.kind === kind).flatMap(({ args }) => args);
      before.push(...(kind.before?.(own, isRetry) ?? []));
    }
    const bound = runs.map(({ kind, args }) => kind.bind(args));
    const results = await database.write([...before, ...bound], mayBegin);
    const announced = nothingAnnounced();
    const outcomesOf = ({ kind, args }: OneKind, i: number) =>
      kind.outcomes(results[before.length + i] ?? [], args, announced);
    return { announced, outcomes: () => runs.flatMap(outcomesOf) };
  }
}

/** `announced` is complete once `outcomes` was called. */
type Done = { announced: Announced; outcomes(): readonly unknown[] };

function isBatched(command: Command): command is BatchedCommand {
  return 'kind' in command;
}

type OneKind = { kind: Batched<unknown>; args: unknown[] };

function runsOf(commands: readonly BatchedCommand[]): OneKind[] {
  const runs: OneKind[] = [];
  for (const { kind, args } of commands) {
    const last = runs.at(-1);
    if (last && last.kind === kind) last.args.push(args);
    else runs.push({ kind, args: [args] });
  }
  return runs;
}

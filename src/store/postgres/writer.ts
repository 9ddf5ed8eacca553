import { AppError } from '../../errors.ts';
import type { Caller } from '../../idempotency.ts';
import type { BatchResult } from '../batch.ts';
import { fault, KEY_USED } from '../once.ts';
import { type Announced, nothingAnnounced } from './announced.ts';
import type { Bound, Database, Query, Row } from './database.ts';
import { sqlState, UNIQUE_VIOLATION } from './failure.ts';
import { forCaller } from './idempotency.ts';

/** What is done in a transaction of its own, whose statements depend on each other. May be run again. */
export type Work<T> = (query: Query, announced: Announced) => Promise<T>;

/** A kind of command of which many become one statement. */
export type Batched<T> = {
  /** What must have been done before, for all of a transaction's commands of this kind. */
  before?(commands: readonly T[]): readonly Bound[];
  bind(commands: readonly T[]): Bound;
  /** One outcome for each command, in order; an AppError for one that failed. */
  outcomes(rows: readonly Row[], commands: readonly T[], announced: Announced): readonly unknown[];
  /** Whether a command may not be in one statement with those before it. */
  standsApart?(command: T, before: readonly T[]): boolean;
  /**
   * Called when another replica wrote at the same time what the statement was about to write, so that nothing was done:
   * whether the next try keeps clear of it.
   */
  evades?(): boolean;
};

export type Command = BatchedCommand | AloneCommand;

type BatchedCommand = { kind: Batched<unknown>; args: unknown };
type AloneCommand = { work: Work<unknown> };

export function batched<T>(kind: Batched<T>, args: T): Command {
  // A kind is given its own commands only (`runsOf`).
  return { kind: kind as unknown as Batched<unknown>, args };
}

/** `hadEffect`: whether an outcome means that it was done; only then is the answer to a request with a key kept. */
export function alone<T>(
  work: Work<T>,
  caller: Caller | undefined,
  hadEffect: (outcome: T) => boolean = Boolean,
): Command {
  return {
    work: (query, announced) => forCaller(query, caller, () => work(query, announced), hadEffect),
  };
}

/**
 * Runs the commands of a batch in their order. Those of kinds that can be batched and follow each other are one
 * transaction, sent in one round trip; when that fails for one of them, they are run again one by one, so that it fails
 * alone. Any other command is a transaction of its own.
 *
 * @param publish called with what each transaction announced, after its commit; never rejects
 */
export function createWriter(database: Database, publish: (announced: Announced) => Promise<void>) {
  return async (commands: readonly Command[]): Promise<BatchResult> => {
    const result: BatchResult = { outcomes: [], failures: [] };
    for (const segment of segmentsOf(commands)) {
      for (const outcome of await carryOut(segment)) {
        if (outcome instanceof AppError)
          result.failures.push({ index: result.outcomes.length, error: outcome });
        result.outcomes.push(outcome);
      }
    }
    return result;
  };

  async function carryOut(segment: Segment): Promise<readonly unknown[]> {
    const commands = 'work' in segment ? [segment] : segment;
    let done: Done;
    try {
      done = await ('work' in segment ? single(segment) : together(segment));
    } catch (error) {
      if (error instanceof AppError) return commands.map(() => error);
      if (sqlState(error) === UNIQUE_VIOLATION && evades(commands)) return carryOut(segment);
      if (commands.length > 1) return oneByOne(commands);
      // Another replica took the key, or is about to.
      return [sqlState(error) === UNIQUE_VIOLATION ? KEY_USED : fault(error)];
    }
    // It is committed: whatever fails from here on must not carry it out once more.
    try {
      const outcomes = done.outcomes();
      await publish(done.announced);
      return outcomes;
    } catch (error) {
      return commands.map(() => fault(error));
    }
  }

  async function oneByOne(commands: readonly Command[]): Promise<readonly unknown[]> {
    const outcomes: unknown[] = [];
    for (const command of commands)
      outcomes.push(...(await carryOut('work' in command ? command : [command])));
    return outcomes;
  }

  function single({ work }: AloneCommand): Promise<Done> {
    return database.transaction(async (query) => {
      // Anew for each try: an earlier one may have announced what was rolled back.
      const announced = nothingAnnounced();
      const outcome = await work(query, announced);
      return { announced, outcomes: () => [outcome] };
    });
  }

  async function together(commands: readonly BatchedCommand[]): Promise<Done> {
    const runs = runsOf(commands);
    const before = [...new Set(runs.map(({ kind }) => kind))].flatMap((kind) => {
      const all = runs.filter((run) => run.kind === kind).flatMap(({ args }) => args);
      return kind.before?.(all) ?? [];
    });
    const bound = runs.map(({ kind, args }) => kind.bind(args));
    const results = await database.write([...before, ...bound]);
    const announced = nothingAnnounced();
    const outcomesOf = ({ kind, args }: Run, i: number) =>
      kind.outcomes(results[before.length + i] ?? [], args, announced);
    return { announced, outcomes: () => runs.flatMap(outcomesOf) };
  }
}

/** What was committed. `announced` is complete when the outcomes were asked for. */
type Done = { announced: Announced; outcomes(): readonly unknown[] };

function evades(commands: readonly Command[]): boolean {
  return commands.some((command) => 'kind' in command && command.kind.evades?.() === true);
}

type Segment = AloneCommand | BatchedCommand[];

function segmentsOf(commands: readonly Command[]): Segment[] {
  const segments: Segment[] = [];
  for (const command of commands) {
    const last = segments.at(-1);
    if ('work' in command) segments.push(command);
    else if (Array.isArray(last)) last.push(command);
    else segments.push([command]);
  }
  return segments;
}

/** Commands of one kind that follow each other. */
type Run = { kind: Batched<unknown>; args: unknown[] };

function runsOf(commands: readonly BatchedCommand[]): Run[] {
  const runs: Run[] = [];
  for (const { kind, args } of commands) {
    const last = runs.at(-1);
    if (last && last.kind === kind && !kind.standsApart?.(args, last.args)) last.args.push(args);
    else runs.push({ kind, args: [args] });
  }
  return runs;
}

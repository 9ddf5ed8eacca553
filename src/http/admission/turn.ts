import type { Socket } from 'node:net';
import { type AppError, retryLater } from '../../errors.ts';
import { http as limits, list } from '../../limits.ts';
import { type Overload, watchOverload } from './overload.ts';
import { createPacedQueue } from './paced-queue.ts';

/** A request that waits for its turn. */
export type Waiting = {
  /** Called at most once; with the refusal if the request may not run after all. */
  resume(refusal?: AppError): void;
  socket: Pick<Socket, 'destroyed' | 'readableEnded'>;
  /** When its turn began; set by `hold`. */
  at: number;
};

export type Turns = ReturnType<typeof gatherTurns>;

/**
 * Holds the requests of one turn of the event loop until all have arrived, then runs them together:
 * - The requests of a turn read one snapshot of the store, opened after the last of them arrived, so that none reads
 *   a state older than itself. `refresh` ends one that other work opened before.
 * - Their responses are sent together. Written one by one between the queries, each would wake its client separately,
 *   which costs the system more than the query does.
 *
 * What exceeds a slice of time runs in the next turn, after earlier waiting requests. So every turn is short:
 * responses are written and new requests are seen (and refused, if need be), however many arrive at once. `now` is in
 * milliseconds of a clock that never goes back.
 */
export function gatherTurns(now: () => number, refresh: () => void, overload: Overload = watchOverload()) {
  const first: (() => void)[] = [];
  const refusals: (() => void)[] = [];
  const requests = createPacedQueue<Waiting>(now, goOn);
  const rest = createPacedQueue<() => void>(now, (work) => work());
  /** How much of `rest` has begun and not ended: a database may take its time. */
  let restUnderWay = 0;
  /** When the first request of this turn arrived. */
  let turnAt: number | undefined;
  let isScheduled = false;
  let isRestScheduled = false;
  let plannedMs: number = limits.sliceMs;
  let hasConnected = false;
  /** Since when a slice is postponed because clients are connecting. */
  let putOffAt: number | undefined;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(beginRequests);
    // Node settles their promises between the two.
    setImmediate(endRequests);
  }

  function beginRequests(): void {
    if (isPutOff()) return;
    refresh();
    turnAt = undefined;
    for (const resume of first.splice(0, limits.healthChecks)) resume();
    plannedMs = Math.max(limits.sliceMs, sendRefusals());
    requests.begin(plannedMs);
  }

  /**
   * Returns the milliseconds that refusals take, so that admitted requests get as much. Refusals wait until now: with
   * more than a thousand connections to read from, Node keeps reading in the same turn, and clients that retry at
   * once would make that turn last for seconds.
   */
  function sendRefusals(): number {
    if (refusals.length === 0) return 0;
    const begun = now();
    for (const refuse of refusals.splice(0)) refuse();
    // The same again for having read them.
    return 2 * (now() - begun);
  }

  function endRequests(): void {
    isScheduled = false;
    if (putOffAt === undefined) {
      requests.end();
      watch();
    }
    if (first.length + refusals.length + requests.size() > 0) schedule();
  }

  function scheduleRest(): void {
    if (isRestScheduled || restUnderWay >= list.partsAtOnce || rest.size() === 0) return;
    isRestScheduled = true;
    setImmediate(() => rest.begin(list.sliceMs, list.partsAtOnce - restUnderWay));
    setImmediate(() => {
      isRestScheduled = false;
      rest.end();
      scheduleRest();
    });
  }

  function restEnded(): void {
    restUnderWay--;
    scheduleRest();
  }

  function watch(): void {
    const wasOverloaded = overload.room() !== undefined;
    const perSlice = requests.perSlice(plannedMs);
    overload.sliceEnded({ now: now(), perSlice, oldestAt: requests.oldest()?.at });
    // What arrived before it was known that it is too much.
    const room = overload.room();
    if (wasOverloaded || room === undefined) return;
    for (const { resume } of requests.cut(room)) resume(overloaded());
  }

  function goOn({ resume, socket }: Waiting): void {
    // In an overload, whoever has closed the sending side has most likely left.
    if (socket.readableEnded && overload.room() !== undefined) resume(overloaded());
    else if (!socket.destroyed) resume();
  }

  /**
   * Node accepts one connection per turn. The next slice waits until all are accepted, but at most for the length of
   * a slice.
   */
  function isPutOff(): boolean {
    if (hasConnected) {
      hasConnected = false;
      putOffAt ??= now();
      if (now() - putOffAt < limits.sliceMs) return true;
    }
    putOffAt = undefined;
    return false;
  }

  return {
    /** Call once for each arriving request. False when the service is overloaded and must refuse it. */
    admits(): boolean {
      const room = overload.room();
      if (room === undefined || requests.size() < room) return true;
      overload.refused(now());
      return false;
    },
    /** Call when a client has connected. */
    connected(): void {
      hasConnected = true;
    },
    /** Refuses a request that was not admitted, before the admitted requests of its turn run. */
    holdRefusal(refuse: () => void): void {
      refusals.push(refuse);
      schedule();
    },
    /** Lets a request run with the others of its turn. */
    hold(waiting: Waiting): void {
      turnAt ??= now();
      waiting.at = turnAt;
      requests.push(waiting);
      schedule();
    },
    /** Lets a health check run before all requests, whatever waits. A flood of them is spread over several turns. */
    holdFirst(resume: () => void): void {
      first.push(resume);
      schedule();
    },
    /** Runs more work of a request that has already started: after the requests of a turn, in its own slice. */
    later<T>(work: () => Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        rest.push(() => {
          restUnderWay++;
          void work().finally(restEnded).then(resolve, reject);
        });
        scheduleRest();
      });
    },
  };
}

/** A new error each time, because it carries its stack. */
export function overloaded(): AppError {
  return retryLater(
    50300,
    'The service receives more requests than it can answer; nothing was done. Retry in a moment.',
  );
}

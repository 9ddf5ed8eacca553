import type { Socket } from 'node:net';
import { type AppError, retryLater } from '../../errors.ts';
import { http as limits, list } from '../../limits.ts';
import { type Overload, watchOverload } from './overload.ts';
import { createPacedQueue } from './paced-queue.ts';

/** A request that waits for its turn. */
export type Waiting = {
  /** Called once, at most: with the refusal when it may not go on after all. */
  resume(refusal?: AppError): void;
  socket: Pick<Socket, 'destroyed' | 'readableEnded'>;
  /** When its turn began; set by `hold`. */
  at: number;
};

export type Turns = {
  /** Called once for each request as it arrives: false when the service is overloaded, and it is to be refused. */
  admits(): boolean;
  /** Says that a client has connected. */
  connected(): void;
  /** Refuses a request that was not admitted, before those of its turn that were go on. */
  holdRefusal(refuse: () => void): void;
  /** Lets a request go on with those of its turn. */
  hold(waiting: Waiting): void;
  /** The same before all others, whatever waits: for questions about the service's health. */
  holdFirst(resume: () => void): void;
  /** Does more work of a request that went on already: behind the requests of a turn, and in a slice of its own. */
  later<T>(work: () => Promise<T>): Promise<T>;
};

/**
 * Holds what one turn of the event loop brings until all of it has arrived, and then lets it go on together:
 *
 * - The requests of a turn read one snapshot of the store, which is opened after the last of them arrived, so
 *   that none reads a state older than itself.
 * - Their answers leave one right behind the other. Written one by one between the queries, each would wake its
 *   client for itself, which costs the system more than the query does.
 *
 * What takes longer than a slice of time goes on in the next turn, behind what waits already. So every turn is short:
 * answers are written, and new requests seen (and refused, if need be), however many came at once.
 *
 * `now` is in milliseconds, of a clock that never goes back.
 */
export function gatherTurns(now: () => number, overload: Overload = watchOverload()): Turns {
  const first: (() => void)[] = [];
  const refusals: (() => void)[] = [];
  const requests = createPacedQueue<Waiting>(now, goOn);
  const rest = createPacedQueue<() => void>(now, (work) => work());
  /** Of `rest`, how much has begun and not ended: a database may take its time. */
  let restUnderWay = 0;
  /** When the first request of this turn arrived. */
  let turnAt: number | undefined;
  let isScheduled = false;
  let isRestScheduled = false;
  let plannedMs: number = limits.sliceMs;
  let hasConnected = false;
  /** Since when a slice is put off because clients connect. */
  let putOffAt: number | undefined;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(beginRequests);
    // Node settles what they do in promises between the two.
    setImmediate(endRequests);
  }

  function beginRequests(): void {
    if (isPutOff()) return;
    turnAt = undefined;
    for (const resume of first.splice(0)) resume();
    plannedMs = Math.max(limits.sliceMs, sendRefusals());
    requests.begin(plannedMs);
  }

  /**
   * Gives the milliseconds that refusals take, so that those that were admitted get as much. Nobody is refused sooner:
   * as long as there are more than a thousand connections to read from, Node goes on reading in the same turn, and
   * clients who ask again at once would make that turn last for seconds.
   */
  function sendRefusals(): number {
    if (refusals.length === 0) return 0;
    const begun = now();
    for (const refuse of refusals.splice(0)) refuse();
    // As much again for reading them, which was before.
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

  async function countRest<T>(work: () => Promise<T>): Promise<T> {
    restUnderWay++;
    try {
      return await work();
    } finally {
      restUnderWay--;
      scheduleRest();
    }
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

  /** Node accepts one connection in each turn: the next slice waits until all are in, or for as long as a slice. */
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
    admits() {
      const room = overload.room();
      if (room === undefined || requests.size() < room) return true;
      overload.refused(now());
      return false;
    },
    connected() {
      hasConnected = true;
    },
    holdRefusal(refuse) {
      refusals.push(refuse);
      schedule();
    },
    hold(waiting) {
      turnAt ??= now();
      waiting.at = turnAt;
      requests.push(waiting);
      schedule();
    },
    holdFirst(resume) {
      first.push(resume);
      schedule();
    },
    later(work) {
      return new Promise((resolve, reject) => {
        rest.push(() => countRest(work).then(resolve, reject));
        scheduleRest();
      });
    },
  };
}

/** Another one each time: it carries the place where it was made. */
export function overloaded(): AppError {
  return retryLater(
    50300,
    'More requests come in than the service can answer; nothing was done. Retry in a moment.',
  );
}

import { randomBytes } from 'node:crypto';
import { getCompileCacheDir } from 'node:module';
import { getPriority, setPriority } from 'node:os';
import { dirname } from 'node:path';

/** The end of year 9999, in milliseconds since the Unix epoch: the last second that RFC 3339 can show. */
export const LAST_TIME = 253_402_300_799_000;

/** A time as responses show it: RFC 3339 §5.6, UTC, with milliseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The schema of such a time. */
export function timeSchema(description: string) {
  return { type: 'string', format: 'date-time', description } as const;
}

/** Milliseconds since the Unix epoch. Passed in wherever time matters, so that tests can set it. */
export type Clock = { now(): number };

/** What the program needs from the outside world: passed in, never global. */
export type Runtime = {
  clock: Clock;
  /** Cryptographically strong random bytes. */
  random(size: number): Buffer;
  ids: Ids;
  log: Log;
};

/** The part of pino's interface that the program uses. Never log a token, a secret or a body. */
export type Log = Record<'debug' | 'info' | 'warn' | 'error', (context: object, message: string) => void>;

/**
 * A clock that never goes back. When the underlying clock is set back, it continues from its last value, so that past
 * events stay in the past and nothing waits twice.
 */
export function steadyClock(clock: Clock): Clock {
  let now = clock.now();
  let mark = performance.now();
  return {
    now() {
      const passed = performance.now() - mark;
      mark += passed;
      now = Math.max(clock.now(), now + passed);
      return Math.floor(now);
    },
  };
}

/** Says whether to do again what is done once in so many milliseconds at most: the first time, and then when they are over. */
export function throttle(everyMs: number, now: () => number = () => performance.now()): () => boolean {
  let doneAt: number | undefined;
  return () => {
    const at = now();
    if (doneAt !== undefined && at - doneAt < everyMs) return false;
    doneAt = at;
    return true;
  };
}

type IdKind = 'evt' | 'wh' | 'tok';

export type Ids = {
  /**
   * A new id such as `evt_01k0c3t2v4…`: the kind and a ULID in lower case (26 characters of Crockford's base 32: 48
   * bits of milliseconds, 80 random bits). Ids sort as text in the order in which they are created.
   */
  next(kind: IdKind): string;
  /** Makes every later id greater than `id`, even if the clock has been set back since. */
  startAfter(id: string): void;
};

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export function systemRuntime(log: Log): Runtime {
  const clock: Clock = { now: Date.now };
  return { clock, random: randomBytes, ids: createIds(clock, randomBytes), log };
}

/** Times, and the ids that contain them, come from the store's clock if it has one: all that use the store compare them. */
export function timedBy(clock: Clock | undefined, runtime: Runtime): Runtime {
  return clock ? { ...runtime, clock, ids: createIds(clock, runtime.random) } : runtime;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const HALF = 2 ** 40;
/** How many random bytes to request at a time: the call costs more than the bytes. */
const POOL_BYTES = 1000;

export function createIds(clock: Clock, random: (size: number) => Buffer): Ids {
  let time = 0;
  let moment = '';
  // 80 random bits as two exact halves; within one millisecond the lower half counts up.
  let highText = '';
  let low = 0;
  let pool: Buffer = Buffer.alloc(0);
  let taken = 0;

  function randomHalf(): number {
    if (taken === pool.length) {
      pool = random(POOL_BYTES);
      taken = 0;
    }
    taken += 5;
    return pool.readUIntBE(taken - 5, 5);
  }

  function startAt(ms: number): void {
    time = ms;
    moment = base32(time, 10);
    highText = base32(randomHalf(), 8);
    low = randomHalf();
  }

  function advance(): void {
    const now = clock.now();
    low++;
    if (now > time) startAt(now);
    else if (low === HALF) startAt(time + 1);
  }

  return {
    next(kind) {
      advance();
      return `${kind}_${moment}${highText}${base32(low, 8)}`;
    },
    startAfter(id) {
      const text = id.slice(id.indexOf('_') + 1);
      const last = fromBase32(text.slice(0, 10));
      if (last < time) return;
      time = last;
      moment = text.slice(0, 10);
      highText = text.slice(10, 18);
      low = fromBase32(text.slice(18, 26));
    },
  };
}

/** The smallest id of this kind from a given time on. Later ids are greater. There are no ids from before 1970. */
export function firstId(kind: IdKind, ms: number): string {
  return `${kind}_${base32(Math.max(0, ms), 10)}${'0'.repeat(16)}`;
}

/** When an id was created: milliseconds since the Unix epoch. */
export function timeOfId(id: string): number {
  const from = id.indexOf('_') + 1;
  return fromBase32(id.slice(from, from + 10));
}

function base32(value: number, digits: number): string {
  let text = '';
  let rest = value;
  for (let i = 0; i < digits; i++) {
    const digit = rest % 32;
    text = ALPHABET.charAt(digit) + text;
    rest = (rest - digit) / 32;
  }
  return text;
}

function fromBase32(text: string): number {
  let value = 0;
  for (const char of text) value = value * 32 + ALPHABET.indexOf(char);
  return value;
}

/** Threads do not inherit the compile cache; without it the thread would compile everything again. */
export function threadEnvironment(): NodeJS.ProcessEnv {
  const ofThisVersion = getCompileCacheDir();
  if (ofThisVersion === undefined) return process.env;
  return { ...process.env, NODE_COMPILE_CACHE: dirname(ofThisVersion) };
}

/** Lowers the priority of this thread, or of the process where threads have none of their own. A lower one stays. */
export function lowerPriority(nice: number): void {
  try {
    setPriority(Math.max(getPriority(), nice));
  } catch {
    // A sandbox that forbids it costs only some latency.
  }
}

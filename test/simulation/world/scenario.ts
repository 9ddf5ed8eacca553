import { delivery as limits } from '../../../src/limits.ts';
import type { Rules } from '../../../src/webhooks/delivery/rules.ts';
import type { Random } from './random.ts';

/** What a seed determines in advance. Each kind of fault is part of only some runs, so that others progress far. */
export type Scenario = {
  start: number;
  /** How long users and faults are active; then everything recovers. */
  busyMs: number;
  /** One process without leases, which ends after an unknown outcome of a commit. */
  isEmbedded: boolean;
  /** Neither the store nor a process fails. */
  isQuiet: boolean;
  owners: number;
  rules: Rules;
  users: number;
  webhooks: number;
  /** Average time between users' requests. */
  requestMs: number;
  faults: Faults;
};

export type Faults = {
  /** Share of refused calls to the store. */
  refused: number;
  lostAnswer: number;
  stalled: number;
  /** Share of slow answers, which contain outdated data. */
  stale: number;
  /** How often the whole store is unavailable. */
  outages: number;
  /** Share of lost hints to other processes. */
  lostHints: number;
  kills: number;
  stops: number;
  freezes: number;
  /** How often another replica joins, and gets lanes of the others. */
  joins: number;
  /** Share of requests that the machine could not make. */
  notMade: number;
  /** Periods of trouble per receiver. */
  illness: number;
  /** Whether an event kills each process that sends it. */
  isPoisoned: boolean;
};

export const noFaults: Faults = {
  refused: 0,
  lostAnswer: 0,
  stalled: 0,
  stale: 0,
  outages: 0,
  lostHints: 0,
  kills: 0,
  stops: 0,
  freezes: 0,
  joins: 0,
  notMade: 0,
  illness: 0,
  isPoisoned: false,
};

/** How long a frozen process stands still at most. */
export const FROZEN_MS = 25_000;

export function drawScenario(random: Random): Scenario {
  const isEmbedded = random.chance(0.3);
  const isQuiet = random.chance(0.35);
  const faults = drawFaults(random.fork('faults'), isEmbedded, isQuiet);
  return {
    start: 1_800_000_000_000,
    busyMs: random.pick([20_000, 60_000, 120_000]),
    isEmbedded,
    isQuiet,
    owners: isEmbedded ? 1 : random.whole(1, 3),
    rules: {
      ...drawRules(random.fork('rules')),
      // With rare searches, a missing wake-up is noticed when nothing else would cause one. What waits in a lane that
      // nobody owns, a replica that joins finds only by searching.
      searchMs: isQuiet && faults.lostHints + faults.joins === 0 && random.chance(0.7) ? 60_000 : 1_000,
      searchedTogether: random.pick([1, 3, 100]),
      lingerMs: random.pick([1_000, 3_000]),
      drainMs: 5_000,
      lastRecordMs: 2_000,
    },
    users: random.whole(1, 3),
    webhooks: random.whole(1, 8),
    requestMs: random.pick([100, 300, 1_000]),
    faults,
  };
}

function drawRules(random: Random): Rules {
  return {
    ...limits,
    concurrency: random.pick([1, 2, 4]),
    failuresToProbe: 3,
    probeMs: { first: 100, most: 3_000 },
    rateBurst: 0.25,
    inAll: random.pick([2, 4, 8, 32]),
    share: random.pick([1 / 8, 1 / 2]),
    ownerShare: 3 / 4,
    ahead: random.whole(0, 3),
    asked: random.pick([1, 2, 16]),
    readsAtOnce: random.pick([1, 2, 8]),
    rereadMs: 5_000,
    rereadEachMs: random.pick([0, 1_000]),
    notMadeMs: 1_000,
    suspicions: 3,
    troubledMs: 10_000,
    unrecorded: random.pick([3, 20, 100]),
    recordEveryMs: 10,
    storeRetryMs: { first: 100, most: 2_000 },
    schedule: random.pick([
      [0, 5_000, 20_000, 60_000],
      [0, 1_000, 2_000, 4_000, 8_000],
    ]),
    disableAfterMs: random.pick([20_000, 600_000]),
    random: random.fork('spread').next,
  };
}

function drawFaults(random: Random, isEmbedded: boolean, isQuiet: boolean): Faults {
  const some = <T>(probability: number, value: T, none: T): T => (random.chance(probability) ? value : none);
  const drawn: Faults = {
    refused: some(0.4, 0.03, 0),
    lostAnswer: some(0.4, 0.03, 0),
    stalled: some(0.3, 0.01, 0),
    stale: some(0.5, 0.1, 0),
    outages: some(0.3, random.whole(1, 2), 0),
    lostHints: isEmbedded ? 0 : some(0.3, random.pick([0.3, 1]), 0),
    kills: some(0.4, random.whole(1, 3), 0),
    stops: some(0.3, random.whole(1, 3), 0),
    freezes: isEmbedded ? 0 : some(0.4, random.whole(1, 3), 0),
    joins: isEmbedded ? 0 : some(0.3, random.whole(1, 3), 0),
    notMade: some(0.2, 0.02, 0),
    illness: random.whole(0, 5),
    isPoisoned: random.chance(0.05),
  };
  if (!isQuiet) return drawn;
  const { stale, lostHints, joins, notMade, illness } = drawn;
  return { ...noFaults, stale, lostHints, joins, notMade, illness };
}

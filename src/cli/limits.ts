/** The bounds of the command line, each with its unit and its reason. Those of the service are in `../limits.ts`. */

const SECOND = 1000;
const MIB = 1024 * 1024;

export const requests = {
  /** From the look-up of the name to the end of the answer: longer than the service takes for any. */
  deadlineMs: 30 * SECOND,
  /** Four times the longest there is: a page of 1000 deliveries, escaped throughout, takes under 4 MB. */
  answerBytes: 16 * MIB,
  /** Deliveries that are asked for at a time: as many as the service gives. */
  pageDeliveries: 1_000,
} as const;

export const waiting = {
  /** For the first attempt of a test event: its own deadline, and as much again for what goes before it. */
  attemptMs: 30 * SECOND,
  /** Between two looks at the delivery; it doubles from the first to the most. */
  lookMs: { first: 100, most: 1 * SECOND },
} as const;

export const stream = {
  /** Between two tries to connect again; it doubles from the first to the most. */
  reconnectMs: { first: 1 * SECOND, most: 30 * SECOND },
  /** A stream that is silent for so long is taken for dead: three heartbeats of the service. */
  silenceMs: 45 * SECOND,
  /** Characters of one event: the longest, escaped throughout, takes under 4 000. */
  eventLength: 16 * 1024,
} as const;

export const display = {
  /** Characters of a receiver's answer in the table of attempts; `--json` shows what is kept of it. */
  excerptLength: 60,
} as const;

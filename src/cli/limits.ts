/** The bounds of the command line, each with its unit and reason. The service's are in `../limits.ts`. */

const SECOND = 1000;
const MIB = 1024 * 1024;

export const requests = {
  /** From the name lookup to the end of the answer: longer than the service takes for any request. */
  deadlineMs: 30 * SECOND,
  /** Four times the longest answer: a page of 1000 plants, fully escaped, takes under 4.2 MB. */
  answerBytes: 16 * MIB,
  /** Plants, deliveries or events per page. */
  pageItems: 1_000,
} as const;

export const retrying = {
  /** How often the pause between two attempts doubles: up to 4 seconds, unless the service names a time. */
  doublings: 4,
  /** Consecutive faults of the service (500) that `listen` survives. */
  faults: 4,
  /** From the first failure of a request: longer than the service takes to restart. */
  giveUpMs: 60 * SECOND,
} as const;

export const tokens = {
  /** Characters that `login` reads from standard input: four times the longest token that a service accepts. */
  inputLength: 16 * 1024,
} as const;

export const profiles = {
  /** How long a `login` waits for others that change the profiles, each for a few milliseconds. */
  lockMs: 5 * SECOND,
} as const;

export const waiting = {
  /** For the first attempt of a test event: twice its own deadline, because others may go first. */
  attemptMs: 30 * SECOND,
  /** Between two polls of the delivery; doubles from `first` to `most`. */
  lookMs: { first: 100, most: 1 * SECOND },
} as const;

export const imports = {
  /** Characters of a row: the longest plant, fully escaped, takes under 8 000. */
  rowLength: 64 * 1024,
  /** How much of a file to read at a time. */
  readBytes: 256 * 1024,
  /** Concurrent requests: the default and the maximum of `--concurrency`. */
  requests: { default: 64, most: 1_000 },
  /** How long an import continues without a usable answer: longer than a restart takes. */
  patienceMs: 5 * 60 * SECOND,
  /** The same before the first answer: the URL may be wrong. */
  firstAnswerMs: 5 * SECOND,
  /** Between two attempts of a row; doubles from `first` to `most`, with 50 % jitter. */
  retryMs: { first: 100, most: 5 * SECOND },
  /** Attempts of a row before a fault of the service counts as a refusal of that row. */
  faultTries: 5,
  /** Keys of a row whose earlier refusals the service keeps: one for each import of the file within a day. */
  keysOfRow: 10,
  /** How much of a marker to read: many times its size, unless the URL is very long. */
  markerBytes: 16 * 1024,
  /** Problems that a dry run prints; it counts the others. */
  shownProblems: 20,
  /** Reading that takes no longer gets no progress line. */
  silentReadMs: 500,
  /** Between two updates on a terminal, and between two lines elsewhere. */
  progressMs: { terminal: 100, lines: 10 * SECOND },
} as const;

export const display = {
  /** Characters of a receiver's answer in the table of attempts; `--json` shows all that is kept. */
  excerptLength: 60,
} as const;

/** What `doctor` waits for: many times what a healthy system needs. */
export const checks = {
  /** A name lookup, a connection, or an answer. */
  answerMs: 5 * SECOND,
  /** Checking the store for damage; `backup` checks a large one in full. */
  readMs: 20 * SECOND,
  /** A smaller difference between clocks does no harm. */
  clockMs: 5 * SECOND,
  /** Free space below which the store's disk has too little. */
  freeBytes: { problem: 64 * MIB, warning: 1024 * MIB },
  /** A larger write-ahead log is not being checkpointed: something holds an old snapshot. */
  logBytes: 256 * MIB,
  /** Webhooks to check concurrently. */
  together: 16,
} as const;

/** The bounds of the command line, each with its unit and its reason. Those of the service are in `../limits.ts`. */

const SECOND = 1000;
const MIB = 1024 * 1024;

export const requests = {
  /** From the look-up of the name to the end of the answer: longer than the service takes for any. */
  deadlineMs: 30 * SECOND,
  /** Four times the longest there is: a page of 1000 deliveries, escaped throughout, takes under 4 MB. */
  answerBytes: 16 * MIB,
  /** Deliveries or plants that are asked for at a time: the longest plants, escaped throughout, take under 5 MB. */
  pageItems: 1_000,
} as const;

export const retrying = {
  /** How often the time between two tries of a request is doubled: up to 4 seconds, unless the service says how long. */
  doublings: 4,
  /** Faults of the service (500) in a row that `listen` forgives. */
  faults: 4,
  /** From the first failure of a request on: long enough for a restart of the service. */
  giveUpMs: 60 * SECOND,
} as const;

export const tokens = {
  /** Characters that `login` reads of standard input: four times the longest token that a service takes. */
  inputLength: 16 * 1024,
} as const;

export const profiles = {
  /** How long a `login` waits for others that change the file of profiles, each of which takes a few milliseconds. */
  lockMs: 5 * SECOND,
  /** Between two looks. */
  lookMs: 20,
} as const;

export const waiting = {
  /** For the first attempt of a test event: its own deadline, and as much again for what goes before it. */
  attemptMs: 30 * SECOND,
  /** Between two looks at the delivery; it doubles from the first to the most. */
  lookMs: { first: 100, most: 1 * SECOND },
} as const;

export const imports = {
  /** Characters of a row: the longest plant, escaped throughout, takes under 8 000. */
  rowLength: 64 * 1024,
  /** Of a file that are read together. */
  readBytes: 256 * 1024,
  /** Requests under way at a time, unless `--concurrency` says otherwise; what it may say. */
  requests: { default: 64, most: 1_000 },
  /** How long the service may give no answer that counts, before an import stops: longer than a restart takes. */
  patienceMs: 5 * 60 * SECOND,
  /** The same for one that has never answered at all: the URL may be wrong. */
  firstAnswerMs: 5 * SECOND,
  /** Between two tries of a row; it doubles from the first to the most, and is spread by a half. */
  retryMs: { first: 100, most: 5 * SECOND },
  /** Tries of a row before a fault of the service counts as a refusal of this very row. */
  faultTries: 5,
  /** Keys of a row whose earlier refusals are kept: one for each import of the file within a day. */
  keysOfRow: 10,
  /** What is read of a marker: many times what is written, unless the URL is a very long one. */
  markerBytes: 16 * 1024,
  /** Problems that a dry run shows; the others are counted. */
  shownProblems: 20,
  /** Reading a file that takes no longer is not worth a line on a terminal. */
  silentReadMs: 500,
  /** Between two looks of a terminal at the progress, and between two lines elsewhere. */
  progressMs: { terminal: 100, lines: 10 * SECOND },
} as const;

export const display = {
  /** Characters of a receiver's answer in the table of attempts; `--json` shows what is kept of it. */
  excerptLength: 60,
} as const;

/** What `doctor` waits for. Nothing that it looks at needs a fraction of it when it is well. */
export const checks = {
  /** A name look-up, a connection, or an answer. */
  answerMs: 5 * SECOND,
  /** Reading the store to see whether it is damaged; the rest of a large one is left to `backup`. */
  readMs: 20 * SECOND,
  /** Clocks that are less apart do no harm. */
  clockMs: 5 * SECOND,
  /** Free space on the disk of the store, below which it is too little. */
  freeBytes: { problem: 64 * MIB, warning: 1024 * MIB },
  /** A write-ahead log beyond it is not checkpointed: somebody holds an old snapshot. */
  logBytes: 256 * MIB,
  /** Webhooks that are looked at together. */
  together: 16,
} as const;

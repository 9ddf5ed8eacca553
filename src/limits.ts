/**
 * Every bound of the service, with its unit and its reason. What happens at a bound is in
 * `docs/reference/limits.md`.
 */

const SECOND = 1000;
const KIB = 1024;
const MIB = 1024 * KIB;

export const http = {
  /** The largest plant takes under 7 KiB, escaped throughout; the rest is room for white space. */
  bodyBytes: 64 * KIB,
  /** Request line and header fields together, as Node counts them. */
  headerBytes: 32 * KIB,
  /** What proxies commonly pass on. */
  urlBytes: 8 * KIB,
  /** Room for a JWT of an identity provider. */
  tokenBytes: 4 * KIB,
  /** Nothing that the service takes nests deeper than 1; deep nesting only costs stack. */
  jsonDepth: 32,
  /** From the first byte to the end of the headers; a healthy client needs milliseconds. */
  headersMs: 10 * SECOND,
  /** From the first byte to the end of the body. */
  requestMs: 30 * SECOND,
  /** How often the two bounds above are looked at. */
  checkEveryMs: 1 * SECOND,
  /** Longer than the 60 s after which common load balancers drop an idle connection. */
  keepAliveMs: 72 * SECOND,
  /** How long a client may take nothing of an answer that waits for it. */
  stalledReaderMs: 60 * SECOND,
  /** How often it is looked for such clients. */
  sweepEveryMs: 5 * SECOND,
  /** Open connections; each costs some 20 KiB, so that all of them leave room to work. */
  connections: 10_000,
  /** How long a refused upload is still read (and thrown away), so that its sender sees the answer. */
  lingerMs: 2 * SECOND,
  /** How much of it is read: more than clients send before they look for an answer. */
  lingerBytes: 16 * MIB,
  /** Draining: after this the connections that are left are closed. */
  drainMs: 10 * SECOND,
  /** How often it is looked for connections that have become idle while the service drains. */
  idleCheckMs: 20,
  /** What `Retry-After` says: what makes the service refuse work passes within a moment. */
  retryAfterSeconds: 1,
} as const;

export const list = {
  /** Plants read from the store at a time; a longer list is streamed. At most 3 MB, escaped throughout. */
  chunkPlants: 1_000,
  /** Ids that are counted in one turn of the event loop, for a list with a large `limit`: about a millisecond. */
  countedPlants: 20_000,
} as const;

export const access = {
  /** Tokens whose owner is kept in memory. */
  cachedTokens: 10_000,
  /** Code points; room for the subject of an identity provider's token. */
  userNameLength: 255,
  /** Code points; a label is a reminder for a person. */
  labelLength: 255,
  /** Long enough that it cannot be guessed, short enough for a header. */
  bootstrapTokenLength: { min: 32, max: 255 },
} as const;

export const writes = {
  /** Commands that wait for a commit. */
  queuedCommands: 10_000,
  /** Memory that waiting commands may take, as text in UTF-16. */
  queuedBytes: 32 * MIB,
  /** How long the oldest may have waited before new ones are refused at the door. */
  queueAgeMs: 5 * SECOND,
  /** Commands in one transaction: enough to spread the cost of a flush, few enough to stay short. */
  batchCommands: 1_000,
  /** How long another process (the command line) may hold the write lock. */
  lockWaitMs: 5 * SECOND,
} as const;

export const delivery = {
  /** One deadline from name look-up to the end of the answer. */
  attemptMs: 15 * SECOND,
  /** A claimed delivery that was not recorded by then is claimed again. */
  leaseMs: 30 * SECOND,
  /** How much of a receiver's answer is read before the connection is left. */
  answerReadBytes: 64 * KIB,
  /** How much of its beginning an attempt carries. */
  answerKeptBytes: 4 * KIB,
  /** Requests under way to one webhook. */
  perWebhook: 16,
  /** Requests under way in all. */
  inAll: 256,
  /** The share of the free places that one webhook may take, so that some stay free for every other. */
  share: 1 / 8,
  /** How often the store is asked for due deliveries when no hint came. */
  pollMs: 1 * SECOND,
  /** A name look-up when a webhook is made. */
  lookupMs: 5 * SECOND,
  /** What servers and proxies commonly take. */
  urlLength: 2048,
  /** Code points; a description is a reminder for a person. */
  descriptionLength: 255,
  /** The share by which a delay is spread, so that receivers that failed together are not tried together. */
  jitter: 0.1,
  /** Attempts that a retry schedule may ask for. */
  attempts: 100,
  /** The longest delay in it: nobody waits longer for a receiver. */
  retryDelayMs: 30 * 24 * 60 * 60 * SECOND,
  /** Node's own default; a receiver needs far less. */
  answerHeaderBytes: 16 * KIB,
  /** Stopping: how long requests that are under way may take to end by themselves. */
  drainMs: 5 * SECOND,
  /** Between two tries of a store call that failed; it doubles from the first to the most. */
  storeRetryMs: { first: 100, most: 5 * SECOND },
  /** Webhooks remembered as silent: each costs a few bytes in every claim. */
  silentWebhooks: 1_000,
  /** Signing keys that are kept imported. */
  importedKeys: 1_000,
} as const;

export const processes = {
  /** Signals to stop that arrive within it count as one: a terminal and `npm` each send Ctrl+C. */
  signalEchoMs: 300,
  /** Between a commit whose outcome is unknown and the end of the process: for the answers that say so. */
  lastAnswersMs: 100,
} as const;

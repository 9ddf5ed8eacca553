/**
 * Every bound of the service, with its unit and its reason. What happens at a bound is in
 * `docs/reference/limits.md`. One long file, because it is one table.
 */

const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
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
  /** Requests of one connection that wait for the answers before theirs: clients that do not wait for answers are rare. */
  pipelinedRequests: 4,
  /** Of the connections that are free, how many one client may have: an IPv4 address, or the /64 of an IPv6 one. */
  connectionShare: 1 / 2,
  /** How long a connection that the service closes is still read (and the data thrown away), so that its client sees the answers. */
  lingerMs: 2 * SECOND,
  /** How much of that data is read: more than clients send before they look for an answer. */
  lingerBytes: 16 * MIB,
  /** Draining: after this the connections that are left are closed. */
  drainMs: 10 * SECOND,
  /** How often it is looked for connections that have become idle while the service drains. */
  idleCheckMs: 20,
  /** How long requests go on before the rest of them waits for the next turn of the event loop: hundreds of usual ones. */
  sliceMs: 5,
  /** How long the oldest that waits may have waited: far longer than with hundreds of clients who ask all the time. */
  lateMs: 100,
  /** For how long all of it must be late until it is overload: a burst, or a pause of the process, is over by then. */
  patienceMs: SECOND / 4,
  /** As many slices as well: a process that was stopped has had fewer. */
  lateSlices: 5,
  /** Requests that may wait in any case: that few clients may ask for what takes long, all the time. */
  leastRoom: 100,
  /** What `Retry-After` says: what makes the service refuse work passes within a moment. */
  retryAfterSeconds: 1,
} as const;

export const list = {
  /** Plants in the first part of a list; a longer one is streamed. */
  firstPlants: 100,
  /** Plants in a later part: as many as fit into `partBytes` if they are like those before, but no more than these. */
  partPlants: 1_000,
  /** The most that is prepared of a list: what a client that takes nothing costs, beside its connection. */
  partBytes: 64 * KIB,
  /** How long parts are prepared in one turn of the event loop: all other clients wait for it each time. */
  sliceMs: 1,
  /** Parts that are prepared at the same time, where that takes a database. */
  partsAtOnce: 16,
  /** Lists of one token whose reader has not taken all of its part: 63 MiB. */
  readersPerToken: 1_000,
  /** The same of all tokens: 75 MiB. Some hundred stay free for those who read, and the slowest reader makes room. */
  readers: 1_200,
  /** How long cursors with a checksum are still taken once none are given out: time for a walk to come to its end. */
  oldCursorMs: 24 * HOUR,
  /** Ids that are counted in one turn of the event loop, for a list with a large `limit`: about a millisecond. */
  countedPlants: 20_000,
} as const;

export const access = {
  /** Tokens whose owner is kept in memory. */
  cachedTokens: 10_000,
  /** Their text, in all: a JWT takes one or two KiB. */
  cachedTokenBytes: 16 * MIB,
  /** Code points; room for the subject of an identity provider's token. */
  userNameLength: 255,
  /** Code points; a label is a reminder for a person. */
  labelLength: 255,
  /** How long an old token works on after a rotation: time to put the new one in its place, not to forget it. */
  tokenOverlapMs: { default: 24 * HOUR, most: 30 * 24 * HOUR },
  /** Long enough that it cannot be guessed, short enough for a header. */
  bootstrapTokenLength: { min: 32, max: 255 },
  /** Failed authentications of one address in a minute that `AUTH_FAILURE_LIMIT` may set. */
  mostAuthFailures: 1_000_000,
  /** Requests that `RATE_LIMIT` may set: what a counter of the draft for `RateLimit` holds is far larger. */
  mostRequests: 1_000_000_000,
  /** Tokens whose requests are counted, for `RATE_LIMIT`: some 15 MB. */
  countedTokens: 100_000,
  /** Clients whose failed authentications are counted. There are 65,536 of the size of an IPv6 /64 in a company's /48. */
  countedAddresses: 100_000,
  /** Tokens that are known to have been good, and may be looked up again whatever their address did. */
  provenTokens: 10_000,
  /** Plants of one user that `MAX_PLANTS_PER_USER` may set. */
  mostPlantsPerUser: 1_000_000_000_000,
  /** Users that one user shares with, and users that share with one: each is a look into the store. */
  sharesPerUser: 1_000,
  /** Owners that are kept in memory, for all viewers together: some 30 MB, with the longest names. */
  cachedOwners: 20_000,
} as const;

export const identityProvider = {
  /** How far the clocks of provider and service may be apart. */
  skewSeconds: 60,
  /** Asking it for its keys, from look-up to the end of the answer: requests may wait for it. */
  fetchMs: 5 * SECOND,
  /** Its discovery document, and its keys: far more than the dozen keys of a large provider take. */
  documentBytes: 256 * KIB,
  /** Keys that are older are fetched again beside the requests, so that a withdrawn key stops counting. */
  refreshMs: 5 * 60 * SECOND,
  /** Keys that are older, because no request came, are fetched again before a request uses them. */
  trustedMs: 10 * 60 * SECOND,
  /** How often it is asked because of a key that is not among those at hand, or after it could not be reached. */
  unknownKeyMs: 30 * SECOND,
  /** The same while no keys are at hand at all. */
  firstRetryMs: 5 * SECOND,
} as const;

export const idempotency = {
  /** Characters of an Idempotency-Key; twice a UUID with a prefix is far below. */
  keyLength: 255,
  /** How long an answer is kept for it: longer than any client retries. */
  keptMs: 24 * HOUR,
} as const;

export const writes = {
  /** Commands that wait for a commit: half of the connections, so that a slow disk leaves some for reads. */
  queuedCommands: 5_000,
  /** Memory that waiting commands may take, as text in UTF-16. */
  queuedBytes: 32 * MIB,
  /** How long the oldest may have waited before new ones are refused at the door. */
  queueAgeMs: 5 * SECOND,
  /**
   * How long a command may have waited until it is asked whether its client is still there. One who has closed the
   * sending side may have left or not, and is there as long as it waits no longer than this.
   */
  desertedMs: 1 * SECOND,
  /** Commands in one transaction: enough to spread the cost of a flush, few enough to stay short. */
  batchCommands: 1_000,
  /** How long another process (the command line) may hold the write lock. */
  lockWaitMs: 5 * SECOND,
  /** Pages of 4 KiB in the write-ahead log from which on it is copied into the database: SQLite's own default. */
  logPages: 1_000,
  /** Memory for a log that is written again after an unclean end, a piece at a time. */
  rewrittenBytes: 1 * MIB,
} as const;

export const storage = {
  /** How often the server looks whether the files of the embedded store are in their place, beside each commit. */
  lookEveryMs: 1 * SECOND,
  /** After all of a store was read without an error of the disk: how long a sign of damage is proof of it. */
  readableMs: 2 * SECOND,
} as const;

export const database = {
  /** Connecting to a server, from name look-up to the first answer; one host after the other. */
  connectMs: 3 * SECOND,
  /** How long a statement may wait for a free connection of the service. */
  waitMs: 5 * SECOND,
  /** When the server gives up a statement: before the service does. */
  statementMs: 8 * SECOND,
  /** When the server gives up the wait for a lock: with `beginMs`, before `writeMs` is over. */
  lockMs: 2 * SECOND,
  /** How long a write of a request waits for those before it and for a connection, until it is not begun any more. */
  beginMs: 2 * SECOND,
  /** From when such a write comes to the store to its answer, whatever the server does: with all else, 5 s. */
  writeMs: 4.5 * SECOND,
  /** How often these waits are looked at. */
  lateCheckMs: SECOND / 10,
  /** How long a migration waits for a lock: whoever wants the table behind it waits as well, so less than `lockMs`. */
  migrationLockMs: 1 * SECOND,
  /** How long it leaves the table to the others then, before it tries again. */
  migrationPauseMs: 5 * SECOND,
  /** How often it is said that a migration waits. */
  migrationTellMs: 60 * SECOND,
  /** A table of so many bytes has a new index within a moment, for which writers may wait. A larger one gets it beside them. */
  briefIndexBytes: 16 * MIB,
  /** When the service gives up an answer, COMMIT included, which the server's own limits do not bound. */
  answerMs: 10 * SECOND,
  /** A connection without a statement is closed after it. */
  idleMs: 60 * SECOND,
  /** Stopping: how long connections may take to end by themselves. */
  closeMs: 2 * SECOND,
  /** How often a transaction is tried again that was the victim of a conflict with others. */
  retries: 5,
  /** Connections that `DATABASE_CONNECTIONS` may set: a server has a hundred, unless it was told otherwise. */
  mostConnections: 1_000,
  /** Of the connections of a replica that sends, how many are those of the thread that does. */
  sendingShare: 1 / 4,
  /** Connections of a verb of the command line. */
  connectionsOfVerb: 2,
  /** Into how many partitions `migrate` divides a table at most: each costs time to plan and files. */
  mostPartitions: 1_024,
  /** Rows that `copy` moves in one transaction. */
  copyRows: 5_000,
  /** How often tokens, users and shares are looked at for changes by other replicas. */
  heartbeatMs: 1 * SECOND,
  /** What is known of them is trusted so long after such a look: a revoked token is refused everywhere by then. */
  trustedMs: 4 * SECOND,
  /** Reads of one turn of the event loop in one statement. */
  readTogether: 64,
  /** Behind a batch of as many commands it is waited for `gatherMs`: the next one costs less for each of its own. */
  gatherMany: 8,
  /** As short as a timer is: those who were answered ask again within it. */
  gatherMs: 1,
  /** How long a server that admits no more connections is left alone before the next try. */
  contestedMs: 50,
  /**
   * Between two looks whether the events of a commit have become part of the feed; it doubles from the first to the most
   * while the same transaction holds them up. The most is how late followers may hear after it ends.
   */
  settleMs: { first: 20, most: SECOND / 2 },
  /** Between two tries to listen for hints; it doubles from the first to the most. */
  listenRetryMs: { first: 100, most: 5 * SECOND },
  /** How often it is asked whether the server that hints come from is still there, and still the primary. */
  listenProofMs: 10 * SECOND,
  /** Between two messages with hints: the first leaves at once, those of the time behind it together. */
  hintMs: 25,
  /** The log says why the database refuses statements, each reason so often at most. */
  repeatMs: 10 * SECOND,
  /** Webhooks, or users, in one hint: PostgreSQL sends less than 8000 bytes. */
  hintEntries: 50,
} as const;

export const delivery = {
  /** One deadline from name look-up to the end of the answer. */
  attemptMs: 15 * SECOND,
  /** How much of a receiver's answer is read before the connection is left. */
  answerReadBytes: 64 * KIB,
  /** How much of its beginning an attempt carries. */
  answerKeptBytes: 4 * KIB,
  /** Requests under way to one webhook that `WEBHOOK_CONCURRENCY` may set. */
  perWebhook: 64,
  /** Deliveries that are read beyond those under way, for each place of a webhook: the next request waits for no read. */
  ahead: 3,
  /** Deliveries of one webhook that a person asked for that are read at a time: nobody asks for more at once by hand. */
  asked: 16,
  /** Webhooks whose deliveries are read at the same time, so that one long read holds up few others. */
  readsAtOnce: 8,
  /** Outcomes that are not recorded yet: memory, and what is sent again after a crash. No request begins at the bound. */
  unrecorded: 2_000,
  /** Between the beginnings of two batches of outcomes: a commit costs as much as several deliveries. */
  recordEveryMs: 10,
  /** A webhook whose deliveries never run out is read from the first one as often: what came late may be before the rest. */
  rereadMs: 1 * SECOND,
  /** For each webhook so much later: 1 000 reads a second at most, some hundredths of a core, for those that only wait. */
  rereadEachMs: 1,
  /** How long a webhook waits when a request to it could not even be made. */
  notMadeMs: 1 * SECOND,
  /** A delivery is given up when the service ended uncleanly as often while it sent it: it may be the cause. */
  suspicions: 3,
  /** How often the store is searched for deliveries of which no hint came; it takes a tenth of the time at most. */
  searchMs: 1 * SECOND,
  /** Webhooks in one part of that search: a few milliseconds. */
  searchedTogether: 1_000,
  /** How long a webhook without anything to send is remembered: its next delivery is sent without asking who may. */
  lingerMs: 2.5 * SECOND,
  /** Stopping: how long outcomes may take to be recorded when requests have ended, within the time for all. */
  lastRecordMs: 2 * SECOND,
  /** Requests under way in all. */
  inAll: 512,
  /** The share of the free places that one webhook may take, so that some stay free for every other. */
  share: 1 / 8,
  /** A name look-up when a webhook is made. */
  lookupMs: 5 * SECOND,
  /** What servers and proxies commonly take. */
  urlLength: 2048,
  /** The host of a webhook's URL, without a final dot: a name in DNS cannot be longer (RFC 1035 §2.3.4). */
  hostBytes: 253,
  /** Each of its labels, likewise. */
  labelBytes: 63,
  /** Code points; a description is a reminder for a person. */
  descriptionLength: 255,
  /** The share by which a delay is spread, so that receivers that failed together are not tried together. */
  jitter: 0.1,
  /** Attempts that a retry schedule may ask for. */
  attempts: 100,
  /** The longest delay in it: nobody waits longer for a receiver. */
  retryDelayMs: 30 * 24 * HOUR,
  /** Node's own default; a receiver needs far less. */
  answerHeaderBytes: 16 * KIB,
  /** Stopping: how long requests that are under way may take to end by themselves. */
  drainMs: 5 * SECOND,
  /** Between two tries of a store call that failed; it doubles from the first to the most. */
  storeRetryMs: { first: 100, most: 5 * SECOND },
  /** Attempts that fail one after the other until a webhook is only probed: one attempt at a time, with pauses. */
  failuresToProbe: 5,
  /** The pause between two probes; it doubles from the first to the most, so that a receiver is found soon when it is back. */
  probeMs: { first: 100, most: 5 * SECOND },
  /** How long after its last attempt a webhook counts as silent or failing: all that wait for a place have one by then. */
  troubledMs: 60 * SECOND,
  /** The longest pause that a receiver may ask for by `Retry-After`. */
  pauseMs: 24 * HOUR,
  /** `Retry-After` is a number or a date: nothing longer is one. */
  retryAfterLength: 64,
  /** Attempts per second that a webhook may ask for; more than one receiver gets anyway. */
  rate: 1_000,
  /** How many attempts may follow on each other at once, as a share of a second's: so that no second has many more. */
  rateBurst: 1 / 10,
  /** Webhooks of one user: each makes a delivery of each plant. */
  webhooksPerUser: 100,
  /** Secrets that sign at the same time: each makes the signature longer. */
  liveSecrets: 5,
  /** How long an old secret keeps signing after a rotation, in seconds. */
  overlapSeconds: { default: 24 * 60 * 60, most: 30 * 24 * 60 * 60 },
  /** Replays of one webhook that are not done. */
  replays: 10,
  /** Attempts that are kept of one delivery: the newest. */
  attemptsKept: 100,
  /** Signing keys that are kept imported. */
  importedKeys: 1_000,
} as const;

/** Leases of replicas on one database. With a look and a search, what a killed one had under way goes out in 12 s. */
export const lanes = {
  /** How long a replica keeps its lanes without a word of it. */
  leaseMs: 7.5 * SECOND,
  /** How often it renews the lease: a third of it, so that one renewal may fail. */
  renewMs: 2.5 * SECOND,
  /** So much before its end a replica that could not renew sends no more: time for a request to be on its way. */
  marginMs: 2 * SECOND,
  /** How often a replica looks which others dispatch. */
  lookMs: 1 * SECOND,
  /** A lane with work that its favourite has not taken for so long is taken by others: a look and two searches. */
  orphanMs: 2.5 * SECOND,
  /** A search finds what is due so soon, and a later one the rest: what waits for its next attempt is not read each time. */
  foundAheadMs: 5 * SECOND,
  /** Earlier names of a process, so that it does not take itself for one that was killed. */
  livesRemembered: 100,
} as const;

export const sending = {
  /** Of 19: about a tenth of a core that the main thread wants, too, and all of it otherwise. Linux only. */
  nice: 10,
  /** A thread that sends which ended by a fault is replaced after it: one that always does must not take all of a core. */
  restartMs: 1 * SECOND,
  /** The heap of the thread that sends. Without a bound V8 would let garbage of several times the size lie. */
  heapMegabytes: { young: 8, old: 96 },
  /** Receivers whose parsed URL is kept. */
  receivers: 1_000,
  /** Connections that are kept open without a request, in all: each costs a file handle. */
  idleConnections: 512,
  /** A connection without a request is closed after it; many servers close theirs after 5 s. */
  idleMs: 4 * SECOND,
  /** The longest that a receiver's `Keep-Alive` header may make of it. */
  longIdleMs: 30 * SECOND,
} as const;

export const lookups = {
  /** The first wait for a name server; each further one is longer. Those that work answer within a fraction. */
  serverMs: 1.5 * SECOND,
  /** How often each name server is asked. */
  tries: 3,
  /** Everything together: a name that takes longer leaves no time for the request. */
  mostMs: 10 * SECOND,
  /** When a name has addresses of one kind, how long the other kind is waited for (RFC 8305 §3 waits 50 ms). */
  otherKindMs: SECOND / 4,
  /** Look-ups by `dns.lookup`: as many as run at once in Node's four threads. */
  places: 2,
} as const;

export const chores = {
  /** Rows that one transaction of a replay, a removal or the retention works on: a few milliseconds. */
  slice: 500,
  /** Between two slices, so that other writes come in between. */
  pauseMs: 5,
  /** How often it is looked for a replay or a removal. */
  pollMs: SECOND / 2,
  /** How often events that are too old are looked for. */
  retentionEveryMs: HOUR,
} as const;

export const activity = {
  /** The hours in one answer, unless `hours` says otherwise. */
  hours: 24,
  /** The most that `hours` may ask for: a week. */
  mostHours: 168,
  /** Events and deliveries that are counted for one answer: some tenths of a second, in parts. */
  countedRows: 1_000_000,
} as const;

export const feeds = {
  /** Deliveries or events in one answer, unless `limit` says otherwise. */
  page: 100,
  /** The most that `limit` may ask for. */
  mostPage: 1_000,
  /** Deliveries that are counted in one turn of the event loop: about a millisecond. */
  counted: 20_000,
  /** Event streams of one user. */
  streamsPerUser: 32,
  /** Event streams in all. */
  streams: 1_000,
  /** What `Retry-After` says then: a stream may last for days. */
  retryAfterSeconds: 30,
  /** A comment on a quiet stream, so that proxies do not take it for dead. */
  heartbeatMs: 15 * SECOND,
  /** How often a stream looks for events when no hint came. */
  pollMs: 5 * SECOND,
  /** What a stream tells its clients to wait before they connect again. */
  reconnectMs: 1 * SECOND,
} as const;

export const tracing = {
  /** Spans that have ended and wait to be handed over: some 10 MB. */
  queuedSpans: 4_096,
  /** Spans in one request to the collector; as soon as there are so many, it is made. */
  spansTogether: 512,
  /** How long fewer spans wait for others to be handed over with. */
  exportEveryMs: 1 * SECOND,
  /** A request to the collector, with its repetitions. */
  exportMs: 5 * SECOND,
  /** How much longer one is waited for that neither ends nor fails. */
  exportGraceMs: 1 * SECOND,
  /** Requests to the collector at the same time: as many as the whole queue takes, and two that are under way. */
  exportsTogether: 10,
  /** Stopping: how long it may take to hand over what has ended. */
  flushMs: 2 * SECOND,
  /** How often the log says that spans were lost. */
  complainEveryMs: 60 * SECOND,
  /** Characters of a `tracestate` that is continued (W3C Trace Context §3.3.1.5). */
  stateLength: 512,
  /** Characters of a value in a span: the longest is the host of a webhook. */
  attributeLength: 255,
} as const;

export const observability = {
  /** Connections to the port for metrics: a few that scrape, and a person who looks. */
  connections: 16,
  /** From the first byte to the end of a request to it. */
  requestMs: 2 * SECOND,
  /** How long a connection to it may be still: whoever reads nothing is not waited for. */
  idleMs: 5 * SECOND,
  /** Metrics that are as fresh are sent again, so that nobody slows the service by asking all the time. */
  freshMs: SECOND,
  /** How often all webhooks, and the size of the store, are looked at, at most; that takes a twentieth of the time at most. */
  readEveryMs: 15 * SECOND,
  /** How long a scrape waits for that: after it, what is known from before is sent. */
  readMs: SECOND,
  /** A size of the store that is older is not told any more: several readings have failed. */
  staleSizeMs: 5 * 60 * SECOND,
  /** Webhooks of the embedded store that are looked at in one turn of the event loop: a few milliseconds. */
  webhooksRead: 500,
  /** A request that takes longer is logged: with a disk that works, none but long lists do. */
  slowRequestMs: SECOND,
  /** Between two lines about slow requests: when all are slow, the log must not make them slower. */
  slowLineMs: SECOND / 10,
} as const;

export const processes = {
  /** Signals to stop that arrive within it count as one: a terminal and `npm` each send Ctrl+C. */
  signalEchoMs: 300,
  /** After the failure that ends the process: how long it listens on, to answer requests that were on their way. */
  lastRequestsMs: 50,
  /** How much longer it waits for the answers that are under way then. */
  lastAnswersMs: 450,
  /** Taking the lock of a data folder: `doctor` and `restore` hold a share of it for a moment, to see who has it. */
  lockWaitMs: 200,
} as const;

export const backups = {
  /** How often what was written of a backup is flushed: little by little, so that no commit waits for all of it. */
  flushEveryMs: 100,
} as const;

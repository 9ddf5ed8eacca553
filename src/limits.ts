/**
 * Every limit of the service, with its unit and reason. What happens at each limit is in
 * `docs/reference/limits.md`. One long file because it is one table.
 */

const SECOND = 1000;
const HOUR = 60 * 60 * SECOND;
const KIB = 1024;
const MIB = 1024 * KIB;

export const http = {
  /** The largest plant takes under 7 KiB, even with every character escaped; the rest is room for white space. */
  bodyBytes: 64 * KIB,
  /** Request line and header fields together, as Node counts them. */
  headerBytes: 32 * KIB,
  /** Chunks of a body of less than 4 KiB each, which cost time. Clients send hundreds of bytes in each. */
  bodyChunks: 10_000,
  /** What proxies commonly accept. */
  urlBytes: 8 * KIB,
  /** Room for an identity provider's JWT. */
  tokenBytes: 4 * KIB,
  /** No valid request nests deeper than 2; deep nesting only costs stack. */
  jsonDepth: 32,
  /** From the first byte to the end of the headers. A healthy client needs milliseconds. */
  headersMs: 10 * SECOND,
  /** From the first byte to the end of the body. */
  requestMs: 30 * SECOND,
  /** How often to check the two bounds above. */
  checkEveryMs: 1 * SECOND,
  /** Longer than the 60 s after which common load balancers drop an idle connection. */
  keepAliveMs: 72 * SECOND,
  /** How long a client may read nothing of a pending response. */
  stalledReaderMs: 60 * SECOND,
  /** How often to check for such clients. */
  sweepEveryMs: 5 * SECOND,
  /** Open connections. Each costs some 20 KiB, so even this many leave memory to work with. */
  connections: 10_000,
  /** Requests of one connection that may wait for earlier responses. Few clients pipeline at all. */
  pipelinedRequests: 4,
  /** Waiting requests of all connections, some 4 KiB each. One packet may contain many. */
  waitingRequests: 10_000,
  /** How much of the free room for waiting requests one connection may take. */
  waitingShare: 1 / 10,
  /** The share of the free connections that one client may hold: one IPv4 address, or one IPv6 /64. */
  connectionShare: 1 / 2,
  /** How long to keep reading (and discarding) after the service closes a connection, so that the client sees the responses. */
  lingerMs: 2 * SECOND,
  /** How much of it to read: more than clients send before they look for a response. */
  lingerBytes: 16 * MIB,
  /** When draining takes longer than this, the remaining connections are closed or reset. */
  drainMs: 10 * SECOND,
  /** How often to check for idle connections while draining. */
  idleCheckMs: 20,
  /** How long requests run before the rest wait for the next turn of the event loop: hundreds of ordinary ones. */
  sliceMs: 5,
  /** Health checks that run in one turn, before its requests: far more than probes send at once, less than a slice. */
  healthChecks: 100,
  /** The longest the oldest waiting request may wait: far more than hundreds of busy clients cause. */
  lateMs: 100,
  /** How long requests must be late before it counts as overload. A burst or a pause of the process is shorter. */
  patienceMs: SECOND / 4,
  /** How many slices must be late, too: after a suspension there are fewer. */
  lateSlices: 5,
  /** Requests that may always wait, so that a few clients may keep sending slow requests. */
  leastRoom: 100,
  /** How long a browser may remember what a page of another origin may send: the most that Chromium heeds. */
  preflightSeconds: 7_200,
  /** The value of `Retry-After`. Whatever makes the service refuse work usually passes within a moment. */
  retryAfterSeconds: 1,
} as const;

export const plants = {
  /** Unicode code points of a name: a line of text. The API promises it, so it can only grow. */
  nameLength: 255,
  /** The same for a tag. */
  tagLength: 255,
} as const;

export const list = {
  /** Plants in the first part of a list. A longer list is streamed. */
  firstPlants: 100,
  /** The largest `limit` with `cursor=last`. */
  lastPlants: 1_000,
  /** The most plants in a later part. Usually `partBytes` ends it first, judged by the size of earlier plants. */
  partPlants: 1_000,
  /** How much of a list is prepared ahead: the memory a stalled reader costs besides its connection. */
  partBytes: 64 * KIB,
  /** How long to prepare parts in one turn of the event loop, while all other clients wait. */
  sliceMs: 1,
  /** Parts to prepare at the same time when each needs a database query. */
  partsAtOnce: 16,
  /** Lists of one token whose reader is behind: 63 MiB. */
  readersPerToken: 1_000,
  /** The same over all tokens: 75 MiB. The slowest reader is cut off so that others can read. */
  readers: 1_200,
  /** Ids to count in one turn of the event loop for a list with a large `limit`: about a millisecond. */
  countedPlants: 20_000,
  /** Lists kept in memory, with the embedded store only: some 10,000 pages of 20 plants. */
  keptBytes: 32 * MIB,
  /** Requests for lists to remember, so that only a list that is requested again is kept: 16 KiB. */
  rememberedLists: 4_096,
  /** Versions of owners' plants in the embedded store: 64 KiB. Owners beyond share them. */
  versions: 16_384,
} as const;

export const access = {
  /** Tokens whose owner is cached. */
  cachedTokens: 10_000,
  /** The total length of cached tokens. A JWT takes one or two KiB. */
  cachedTokenBytes: 16 * MIB,
  /** Code points. Room for the subject of an identity provider's token. */
  userNameLength: 255,
  /** Code points. A label is a reminder for a person. */
  labelLength: 255,
  /** How long an old token keeps working after a rotation: time to deploy the new one, not to forget it. */
  tokenOverlapMs: { default: 24 * HOUR, most: 30 * 24 * HOUR },
  /** The most live tokens of a user over the API. Of the expired and revoked ones, as many are kept. */
  tokensPerUser: 100,
  /** The longest `expiresIn`, in seconds: ten years. For longer, leave it out. */
  tokenLifetimeSeconds: 10 * 365 * 24 * 60 * 60,
  /** Last uses of tokens written together: a few milliseconds of a transaction. */
  usesTogether: 500,
  /** Too long to guess, short enough for a header. */
  bootstrapTokenLength: { min: 32, max: 255 },
  /** The highest `AUTH_FAILURE_LIMIT`: failed authentications of one address in a minute. */
  mostAuthFailures: 1_000_000,
  /** The highest `RATE_LIMIT`. The draft for `RateLimit` headers allows far larger counters. */
  mostRequests: 1_000_000_000,
  /** Tokens counted for `RATE_LIMIT`: some 15 MB. */
  countedTokens: 100_000,
  /** Clients whose failed authentications are counted. A company's /48 has 65,536 networks of size /64. */
  countedAddresses: 100_000,
  /** Tokens that were valid before. They are looked up even when their address is blocked. */
  provenTokens: 10_000,
  /** The highest `MAX_PLANTS_PER_USER`. */
  mostPlantsPerUser: 1_000_000_000_000,
  /** Users that one user shares with, and users that share with one. Each costs a store lookup. */
  sharesPerUser: 1_000,
  /** Cached owners for all viewers together: some 30 MB with the longest names. */
  cachedOwners: 20_000,
} as const;

export const identityProvider = {
  /** The allowed clock difference between provider and service. */
  skewSeconds: 60,
  /** Fetching the provider's keys, from name lookup to the end of the response. Requests may wait for it. */
  fetchMs: 5 * SECOND,
  /** The provider's discovery document and key set: far more than a large provider's dozen keys take. */
  documentBytes: 256 * KIB,
  /** Characters of a wrong issuer in the discovery document that the log repeats. */
  shownIssuer: 255,
  /** Older keys are refreshed in the background, so that a withdrawn key stops working. */
  refreshMs: 5 * 60 * SECOND,
  /** Keys older than this, because no request came, are refreshed before a request uses them. */
  trustedMs: 10 * 60 * SECOND,
  /** How often to ask the provider for an unknown key, or to retry after it was unreachable. */
  unknownKeyMs: 30 * SECOND,
  /** The same while the service has no keys at all. */
  firstRetryMs: 5 * SECOND,
} as const;

export const idempotency = {
  /** Characters of an Idempotency-Key. Two UUIDs with a prefix are far shorter. */
  keyLength: 255,
  /** How long an answer is kept: longer than any client retries. */
  keptMs: 24 * HOUR,
} as const;

export const writes = {
  /** Commands that wait for a commit: half the connections, so that a slow disk leaves some for reads. */
  queuedCommands: 5_000,
  /** Memory for waiting commands, as UTF-16 text. */
  queuedBytes: 32 * MIB,
  /** How old the oldest command may be before new writes are refused on arrival. */
  queueAgeMs: 5 * SECOND,
  /**
   * How long a command waits before the service checks that its client is still there. A client that half-closed its
   * connection may have left; until this time it counts as present.
   */
  desertedMs: 1 * SECOND,
  /** Commands in one transaction: enough to share the cost of a flush, few enough to stay short. */
  batchCommands: 1_000,
  /** After a batch that outlasted its callers, batches are half as large. They double after one that took less than this. */
  quickBatchMs: 1 * SECOND,
  /** How long another process (the command line) may hold the write lock. */
  lockWaitMs: 5 * SECOND,
  /** The write-ahead log is checkpointed from this many 4 KiB pages on: SQLite's own default. */
  logPages: 1_000,
  /** The piece size when rewriting a log after an unclean exit. */
  rewrittenBytes: 1 * MIB,
} as const;

export const storage = {
  /** How often to check that the files of the embedded store are in place, besides at each commit. */
  lookEveryMs: 1 * SECOND,
  /** How long a full read without a disk error disproves an earlier sign of damage. */
  readableMs: 2 * SECOND,
} as const;

export const database = {
  /** Connecting to a server, from name lookup to the first response. Hosts are tried one after the other. */
  connectMs: 3 * SECOND,
  /** How long a statement may wait for a free pool connection. */
  waitMs: 5 * SECOND,
  /** How long the server keeps the session of a machine that has stopped answering. */
  lostSessionMs: 60 * SECOND,
  /** The server's statement timeout: it fires before the service gives up. */
  statementMs: 8 * SECOND,
  /** The server's lock timeout: with `beginMs`, shorter than `writeMs`. */
  lockMs: 2 * SECOND,
  /** How long a request's write may wait for earlier writes and a connection before it is refused unstarted. */
  beginMs: 2 * SECOND,
  /** From a write's arrival at the store to its answer, whatever the server does. With everything else, 5 s. */
  writeMs: 4.5 * SECOND,
  /** How often to check these waits. */
  lateCheckMs: SECOND / 10,
  /**
   * How long a migration waits for a lock, at first: everyone else queues after it, and requests that hold another of
   * its locks wait for it in turn, so it gives up and tries again until it meets a moment between them.
   */
  migrationLockMs: SECOND / 20,
  /**
   * It then waits twice as long, up to this, and begins anew. Less than `lockMs`, and more than the server's
   * `deadlock_timeout`, after which the server stops an autovacuum that is in the way.
   */
  longestMigrationLockMs: 1.6 * SECOND,
  /** How long a migration leaves the tables to others before it tries again, at least. */
  migrationPauseMs: SECOND / 5,
  /** The same in multiples of its last wait, if that is longer. */
  migrationPauses: 3,
  /** How often to log that a migration is waiting. */
  migrationTellMs: 60 * SECOND,
  /** A table up to this size is indexed in a moment while writers wait. A larger one is indexed concurrently. */
  briefIndexBytes: 16 * MIB,
  /** When the service gives up on an answer, COMMIT included, that the server's own timeouts do not bound. */
  answerMs: 10 * SECOND,
  /** Idle connections are closed after this time. */
  idleMs: 60 * SECOND,
  /** Stopping: how long connections may take to end by themselves. */
  closeMs: 2 * SECOND,
  /** How often to retry a transaction that lost a conflict with others. */
  retries: 5,
  /** The highest `DATABASE_CONNECTIONS`. A server allows a hundred by default. */
  mostConnections: 1_000,
  /** The sender thread's share of the connections of a replica that dispatches. */
  sendingShare: 1 / 4,
  /** Connections of a command-line verb. */
  connectionsOfVerb: 2,
  /** The most partitions `migrate` creates for one table: each costs planning time and files. */
  mostPartitions: 1_024,
  /** Rows that `copy` moves in one transaction. */
  copyRows: 5_000,
  /** Characters in one transaction, unless one row has more: over a slow link, they must arrive within `answerMs`. */
  copyCharacters: 1024 * KIB,
  /** How often to check for tokens, users and shares that other replicas changed. */
  heartbeatMs: 1 * SECOND,
  /**
   * How long the server, and cached access data, are trusted without an answer from it. By then a revoked token is
   * refused everywhere.
   */
  trustedMs: 4 * SECOND,
  /** Reads of one turn of the event loop in one statement. */
  readTogether: 64,
  /** After a batch of this many commands, wait `gatherMs` before the next one: a fuller batch costs less per command. */
  gatherMany: 8,
  /** The shortest timer. Clients that were just answered send their next request within it. */
  gatherMs: 1,
  /** How long to wait before retrying a server that has no free connection slots. */
  contestedMs: 50,
  /**
   * The pause between checks whether a commit's events have become visible in the feed. It doubles while the same
   * transaction holds them back; once it ends, followers see them after the longest pause at the latest.
   */
  settleMs: { first: 20, most: SECOND / 2 },
  /** The pause between attempts to listen for hints. It doubles from the first to the most. */
  listenRetryMs: { first: 100, most: 5 * SECOND },
  /** How often to check that the server that sends hints is still there and still the primary. */
  listenProofMs: 10 * SECOND,
  /** The pause between two messages with hints. The first leaves at once; those that follow are combined. */
  hintMs: 25,
  /** The log repeats each reason why the database refuses statements at most this often. */
  repeatMs: 10 * SECOND,
  /** Webhooks or users in one hint. PostgreSQL's limit is 8000 bytes. */
  hintEntries: 50,
} as const;

export const delivery = {
  /** One deadline from name lookup to the end of the response. */
  attemptMs: 15 * SECOND,
  /** How much of a receiver's response is read before the connection is closed. */
  answerReadBytes: 64 * KIB,
  /** How much of its beginning is kept with the attempt. */
  answerKeptBytes: 4 * KIB,
  /** The highest `WEBHOOK_CONCURRENCY`: requests in flight to one webhook. */
  perWebhook: 64,
  /** Deliveries to read ahead for each slot of a webhook, so that the next request waits for no read. */
  ahead: 3,
  /** Manual deliveries of one webhook to read at a time. Nobody requests more at once by hand. */
  asked: 16,
  /** Webhooks whose deliveries are read at the same time, so that one slow read delays few others. */
  readsAtOnce: 8,
  /** Outcomes not yet recorded: memory, and requests repeated after a crash. At the limit no request starts. */
  unrecorded: 2_000,
  /** The pause between two batches of outcomes. A commit costs as much as several deliveries. */
  recordEveryMs: 10,
  /** How often to reread a busy webhook from its first delivery: one that arrived late may belong before the rest. */
  rereadMs: 1 * SECOND,
  /** Added for each webhook: at most 1 000 reads a second, a few hundredths of a core, for webhooks that only wait. */
  rereadEachMs: 1,
  /** How long a webhook waits after a request to it could not be made here, such as for lack of file handles. */
  notMadeMs: 1 * SECOND,
  /** How often to log that the machine lacks what a connection needs. */
  complainEveryMs: 60 * SECOND,
  /** An attempt counts as failed after this many unclean exits since it was noted: it may be the cause. */
  suspicions: 3,
  /** How often to search the store for deliveries without a hint. The pause is at most doubled after a slow search. */
  searchMs: 1 * SECOND,
  /** Webhooks in one part of that search: a few milliseconds. */
  searchedTogether: 1_000,
  /** How long a webhook with nothing to send is remembered. Its next delivery needs no lookup. */
  lingerMs: 2.5 * SECOND,
  /** Stopping: how long to record outcomes after the requests have ended, within the total time to stop. */
  lastRecordMs: 2 * SECOND,
  /** Requests in flight in total. */
  inAll: 512,
  /** The share of the free slots that one webhook may take, so that some stay free for every other. */
  share: 1 / 8,
  /** The share of the slots not taken by other users that the webhooks of one user may take together. */
  ownerShare: 3 / 4,
  /** A name lookup when a webhook is created. */
  lookupMs: 5 * SECOND,
  /** Names being looked up for webhooks that are created, or get another URL. */
  lookups: 100,
  /** What servers and proxies commonly accept. */
  urlLength: 2048,
  /** The host of a webhook's URL, without a final dot: the longest name in DNS (RFC 1035 §2.3.4). */
  hostBytes: 253,
  /** Each label of the host, likewise. */
  labelBytes: 63,
  /** Code points. A description is a reminder for a person. */
  descriptionLength: 255,
  /** The share by which a delay varies, so that receivers that failed together are not retried together. */
  jitter: 0.1,
  /** The most attempts in a retry schedule. */
  attempts: 100,
  /** The longest delay in a retry schedule: nobody waits longer for a receiver. */
  retryDelayMs: 30 * 24 * HOUR,
  /** Node's own default; a receiver needs far less. */
  answerHeaderBytes: 16 * KIB,
  /** Stopping: how long requests in flight may take to end by themselves. */
  drainMs: 5 * SECOND,
  /** The pause between retries of a failed store call. It doubles from the first to the most. */
  storeRetryMs: { first: 100, most: 5 * SECOND },
  /** Consecutive failures until a webhook is only probed: one attempt at a time, with pauses. */
  failuresToProbe: 5,
  /** The pause between two probes. It doubles from the first to the most, so that a recovered receiver is soon noticed. */
  probeMs: { first: 100, most: 5 * SECOND },
  /** How long after its last attempt a webhook counts as silent or failing. All that wait have had an attempt by then. */
  troubledMs: 60 * SECOND,
  /** The longest pause a receiver may request with `Retry-After`. */
  pauseMs: 24 * HOUR,
  /** `Retry-After` is a number or a date: neither is longer. */
  retryAfterLength: 64,
  /** The highest rate of a webhook, in attempts per second: more than one receiver gets anyway. */
  rate: 1_000,
  /** How many attempts may start at once, as a share of one second's, so that no second has many more. */
  rateBurst: 1 / 10,
  /** Webhooks of one user. Each adds a delivery to every plant. */
  webhooksPerUser: 100,
  /** Secrets that sign at the same time. Each makes the signature longer. */
  liveSecrets: 5,
  /** How long an old secret keeps signing after a rotation, in seconds. */
  overlapSeconds: { default: 24 * 60 * 60, most: 30 * 24 * 60 * 60 },
  /** Unfinished replays of one webhook. */
  replays: 10,
  /** Attempts kept of one delivery: the newest. */
  attemptsKept: 100,
  /** Imported signing keys in the cache. */
  importedKeys: 1_000,
} as const;

/** Leases of replicas on one database. With a look and a search, a killed replica's deliveries resume within 12 s. */
export const lanes = {
  /** How long a replica keeps its lanes without renewing. */
  leaseMs: 7.5 * SECOND,
  /** How often it renews the lease: a third of it, so that one renewal may fail. */
  renewMs: 2.5 * SECOND,
  /** A replica that could not renew stops sending this long before the lease ends: time for a request to arrive. */
  marginMs: 2 * SECOND,
  /** How often a replica checks which others dispatch. */
  lookMs: 1 * SECOND,
  /** When a lane's preferred replica has left its work for this long, others take it: one look and two searches. */
  orphanMs: 2.5 * SECOND,
  /** How long the others keep such a lane: a preferred replica that never takes it delays it once in this time. */
  keptMs: 60 * SECOND,
  /** A search finds what is due this soon and leaves the rest to a later one, so that waiting retries are not read each time. */
  foundAheadMs: 5 * SECOND,
} as const;

export const sending = {
  /** Out of 19: about a tenth of a core while the main thread is busy, a full core otherwise. Linux only. */
  nice: 10,
  /** The pause before a failed sender thread is replaced, so that one that always fails does not take a full core. */
  restartMs: 1 * SECOND,
  /** The sender thread's heap. Without a bound V8 would let several times as much garbage accumulate. */
  heapMegabytes: { young: 8, old: 96 },
  /** Cached parsed URLs of receivers. */
  receivers: 1_000,
  /** Idle connections kept open in total: each costs a file handle. */
  idleConnections: 512,
  /** Idle connections are closed after this time. Many servers close theirs after 5 s. */
  idleMs: 4 * SECOND,
  /** The longest idle time a receiver's `Keep-Alive` header may set. */
  longIdleMs: 30 * SECOND,
  /**
   * What may arrive on a TLS connection for its handshake and then, for one request, besides the response, such as
   * thousands of tiny records. TLS sets no limit to handshakes, tickets and key updates, and each costs far more than its
   * bytes.
   */
  surplusBytes: 64 * KIB,
  /** How often to check that. */
  sweepMs: SECOND / 10,
} as const;

export const lookups = {
  /** The first timeout for a name server; later ones are longer. A working server answers in a fraction of it. */
  serverMs: 1.5 * SECOND,
  /** How often to ask each name server. */
  tries: 3,
  /** Everything together. A slower name would leave no time for the request. */
  mostMs: 10 * SECOND,
  /** After IPv4 addresses have arrived, how long to wait for those of IPv6 (RFC 8305 §3 waits 50 ms). */
  otherKindMs: SECOND / 4,
  /**
   * How long to try one address of several. Node's 0.5 s end before a lost packet is repeated (1 s), and the next address
   * may be of a family that the machine lacks.
   */
  nextAddressMs: 2 * SECOND,
  /** Addresses of each kind to try. An attempt has no time for more that do not answer. */
  addressesTried: 8,
} as const;

export const chores = {
  /** Rows in one transaction of a replay, a removal or the retention: a few milliseconds. */
  slice: 500,
  /** The pause between two slices, so that other writes get their turn. */
  pauseMs: 5,
  /** How often to check for a replay or a removal, or to retry one that must wait. */
  pollMs: SECOND / 2,
  /** How often to check for expired events. */
  retentionEveryMs: HOUR,
} as const;

export const activity = {
  /** The hours in one answer, unless `hours` says otherwise. */
  hours: 24,
  /** The highest `hours`: a week. */
  mostHours: 168,
  /** Events and deliveries counted for one answer: some tenths of a second, in parts. */
  countedRows: 1_000_000,
} as const;

export const feeds = {
  /** Deliveries or events in one answer, unless `limit` says otherwise. */
  page: 100,
  /** The highest `limit`. */
  mostPage: 1_000,
  /** Deliveries to count in one turn of the event loop: about a millisecond. */
  counted: 20_000,
  /** Deliveries of removed shares to pass over in one turn of the event loop: a few milliseconds. */
  walked: 2_000,
  /** Event streams of one user. */
  streamsPerUser: 32,
  /** Event streams in total. */
  streams: 1_000,
  /** The `Retry-After` when there are too many streams: each may last for days. */
  retryAfterSeconds: 30,
  /** A comment on a quiet stream, so that proxies keep the connection. */
  heartbeatMs: 15 * SECOND,
  /** How often a stream checks for events when no hint came. */
  pollMs: 5 * SECOND,
  /** How long a stream tells its clients to wait before they reconnect. */
  reconnectMs: 1 * SECOND,
} as const;

export const tracing = {
  /** Ended spans that wait for export: some 10 MB. */
  queuedSpans: 4_096,
  /** Spans in one request to the collector, which is sent as soon as this many have ended. */
  spansTogether: 512,
  /** How long fewer spans wait for more before they are exported. */
  exportEveryMs: 1 * SECOND,
  /** One request to the collector, retries included. */
  exportMs: 5 * SECOND,
  /** How much longer to wait for a request that neither ends nor fails. */
  exportGraceMs: 1 * SECOND,
  /** Concurrent requests to the collector: the whole queue, and two in flight. */
  exportsTogether: 10,
  /** Stopping: how long exporting the ended spans may take. */
  flushMs: 2 * SECOND,
  /** How often to log that spans were lost. */
  complainEveryMs: 60 * SECOND,
  /** Characters of a `tracestate` that is continued (W3C Trace Context §3.3.1.5). */
  stateLength: 512,
  /** Characters of an attribute's value. The longest is a webhook's host. */
  attributeLength: 255,
} as const;

export const observability = {
  /** Connections to the metrics port: a few scrapers and a person. */
  connections: 16,
  /** From the first byte to the end of a request for metrics. */
  requestMs: 2 * SECOND,
  /** How long such a connection may be idle, even when its reader has stalled. */
  idleMs: 5 * SECOND,
  /** Metrics this fresh are served again, so that nobody slows the service by scraping constantly. */
  freshMs: SECOND,
  /** How often to read the state of all webhooks and the size of the store. Reading takes at most a twentieth of the time. */
  readEveryMs: 15 * SECOND,
  /** How long a scrape waits for that. After it, the last known values are sent. */
  readMs: SECOND,
  /** An older size of the store is omitted: several readings have failed. */
  staleSizeMs: 5 * 60 * SECOND,
  /** Webhooks of the embedded store to read in one turn of the event loop: a few milliseconds. */
  webhooksRead: 500,
  /** Slower requests are logged. With a healthy disk, only long lists take this long. */
  slowRequestMs: SECOND,
  /** The pause between two lines about slow requests: when all are slow, the log must not make them slower. */
  slowLineMs: SECOND / 10,
} as const;

export const processes = {
  /** Signals to stop that arrive within this time count as one: a terminal and `npm` each send Ctrl+C. */
  signalEchoMs: 300,
  /** How often to check whether the shell in which `npm` or `npx` runs the program has ended. */
  parentCheckMs: 100,
  /** After a fatal failure: how long to keep listening, to answer requests already on their way. */
  lastRequestsMs: 50,
  /** After that, how long to wait for the answers in progress. */
  lastAnswersMs: 450,
  /** Taking the lock of a data folder. `doctor` and `restore` hold it briefly to see who else does. */
  lockWaitMs: 200,
} as const;

export const backups = {
  /** How often to flush a backup in progress: little by little, so that no commit waits for all of it. */
  flushEveryMs: 100,
} as const;

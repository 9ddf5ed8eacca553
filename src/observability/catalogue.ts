import { delivery, list, observability, writes } from '../limits.ts';

/**
 * Every metric of the service. Both the export and docs/reference/metrics.md are generated from this table. Label
 * values are bounded: they never contain a user, a webhook, a path or text from a client.
 */

export type Metric = {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** None by default. */
  labels?: readonly string[];
  /** `store`: every replica reports the same, for the whole store. By default each reports its own share. */
  of?: 'store';
  help: string;
  /** For a histogram: upper bounds, in the unit of the name. */
  buckets?: readonly number[];
};

const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export const catalogue = {
  requestDuration: {
    name: 'plant_store_http_request_duration_seconds',
    type: 'histogram',
    labels: ['method', 'route', 'code'],
    help:
      'From the arrival of a request to the end of its response, by the pattern of its route. The route is "none" if ' +
      'no route matched: an unknown path, an unsupported method, or a request refused before it was read. The code ' +
      'is 499 if the client left early. For GET /events/stream it is how long the stream was open; for what cannot ' +
      'be read as a request, 0.',
    buckets: DURATIONS,
  },
  requestsUnderWay: {
    name: 'plant_store_http_requests_under_way',
    type: 'gauge',
    help: 'Requests in progress, including open event streams.',
  },
  connections: {
    name: 'plant_store_http_connections',
    type: 'gauge',
    help: 'Open client connections.',
  },
  errors: {
    name: 'plant_store_http_errors_total',
    type: 'counter',
    labels: ['error'],
    help: 'Error responses, by the code in their body. Excludes /healthz and /readyz.',
  },
  listsReset: {
    name: 'plant_store_http_lists_reset_total',
    type: 'counter',
    help:
      'List responses reset because too many readers had stalled, the longest-stalled first: the limit is ' +
      `${list.readersPerToken} per token, ${list.readers} in total.`,
  },
  commitCommands: {
    name: 'plant_store_commit_commands',
    type: 'histogram',
    labels: ['queue'],
    help: 'Commands per commit: of requests in the queue "writes", outcomes of attempts in the queue "dispatch".',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000],
  },
  commitDuration: {
    name: 'plant_store_commit_duration_seconds',
    type: 'histogram',
    labels: ['queue'],
    help: 'From the start of a batch of commands until all of it is on disk or has failed.',
    buckets: [0.0005, ...DURATIONS],
  },
  queueWait: {
    name: 'plant_store_write_queue_wait_seconds',
    type: 'histogram',
    labels: ['queue'],
    help: 'How long the first command of each batch waited until the batch began.',
    buckets: DURATIONS,
  },
  queueCommands: {
    name: 'plant_store_write_queue_commands',
    type: 'gauge',
    labels: ['queue'],
    help:
      `Commands that wait for a commit; writes are refused (50300) from ${writes.queuedCommands} on. In "dispatch", ` +
      `outcomes not yet recorded; no attempt begins from ${delivery.unrecorded} on.`,
  },
  queueAge: {
    name: 'plant_store_write_queue_age_seconds',
    type: 'gauge',
    labels: ['queue'],
    help: `How long the oldest waiting command has waited; writes are refused (50300) beyond ${writes.queueAgeMs / 1000} s.`,
  },
  writeFailures: {
    name: 'plant_store_write_failures_total',
    type: 'counter',
    labels: ['error'],
    help:
      'Commands that failed because of the store: 50302 nothing was done, 50301 the outcome is unknown, 50000 a ' +
      'fault of the service. Includes outcomes of attempts, which are recorded again later.',
  },
  attempts: {
    name: 'plant_store_delivery_attempts_total',
    type: 'counter',
    labels: ['outcome'],
    help:
      'Delivery attempts: delivered, retrying (failed, will be retried), failed (for good, after the last attempt), ' +
      'not_made (no request was sent).',
  },
  attemptDuration: {
    name: 'plant_store_delivery_attempt_duration_seconds',
    type: 'histogram',
    labels: ['outcome'],
    help: "From the lookup of the receiver's name to the end of its response.",
    buckets: [...DURATIONS, 15],
  },
  deliveriesUnderWay: {
    name: 'plant_store_deliveries_under_way',
    type: 'gauge',
    help: `Deliveries in flight, at most ${delivery.inAll} and a manual one.`,
  },
  lanes: {
    name: 'plant_store_delivery_lanes',
    type: 'gauge',
    labels: ['state'],
    help:
      'Webhooks limited to one attempt at a time: silent (the last attempt got no complete response), failing (several ' +
      'attempts failed in a row; further ones are spaced out). Excludes webhooks without an attempt for ' +
      `${delivery.troubledMs / 1000} s.`,
  },
  pauses: {
    name: 'plant_store_webhook_pauses_total',
    type: 'counter',
    help: 'Pauses that receivers requested with Retry-After.',
  },
  disabled: {
    name: 'plant_store_webhooks_disabled_total',
    type: 'counter',
    help: 'Webhooks that the service disabled because their receiver is gone or has failed for days.',
  },
  webhooks: {
    name: 'plant_store_webhooks',
    type: 'gauge',
    labels: ['status'],
    of: 'store',
    help: 'Webhooks by status: enabled, paused (enabled, but the receiver requested a pause) and disabled.',
  },
  oldestWaiting: {
    name: 'plant_store_oldest_waiting_delivery_age_seconds',
    type: 'gauge',
    labels: ['state'],
    of: 'store',
    help:
      'Age of the event of the oldest delivery that is pending (of an enabled webhook) or held (of a disabled one); 0 ' +
      'if there is none. It grows while a receiver fails, until the retry schedule ends.',
  },
  overdue: {
    name: 'plant_store_overdue_delivery_age_seconds',
    type: 'gauge',
    of: 'store',
    help:
      'How overdue the longest-waiting delivery is, excluding pauses; 0 when nothing ' +
      'waits. It grows while the service or a receiver cannot keep up with the events.',
  },
  readingAge: {
    name: 'plant_store_webhook_reading_age_seconds',
    type: 'gauge',
    help:
      'The age of the three metrics about webhooks and waiting deliveries, which are read at most every ' +
      `${observability.readEveryMs / 1000} s. Counts from the start of the service until the first successful read.`,
  },
  storeSize: {
    name: 'plant_store_size_bytes',
    type: 'gauge',
    of: 'store',
    help: 'The size of the store on disk, including its write-ahead log; for PostgreSQL, of the database.',
  },
  storeFree: {
    name: 'plant_store_disk_free_bytes',
    type: 'gauge',
    of: 'store',
    help: 'Free space on the file system of the data folder. Absent with PostgreSQL, whose disk is elsewhere.',
  },
  loopActive: {
    name: 'plant_store_event_loop_active_seconds_total',
    type: 'counter',
    help: 'Busy time of the main thread. Its rate is the utilisation; at 1 the thread is saturated.',
  },
  buildInfo: {
    name: 'plant_store_build_info',
    type: 'gauge',
    labels: ['version', 'node', 'store'],
    help: 'Always 1; its labels give the versions of the service and of Node, and the kind of store.',
  },
} as const satisfies Record<string, Metric>;

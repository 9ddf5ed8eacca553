import { delivery, list, observability, writes } from '../limits.ts';

/**
 * Every metric of the service's own: what is exported, and what docs/reference/metrics.md says of it, is made from this
 * table. What a label may be is bounded: no user, webhook, path or text of a client is ever one.
 */

export type MetricType = 'counter' | 'gauge' | 'histogram';

export type Metric = {
  name: string;
  type: MetricType;
  labels: readonly string[];
  /** Whether each replica tells its own part, or every one the same of the whole store. */
  of: 'replica' | 'store';
  help: string;
  /** Of a histogram: upper bounds, in the unit of the name. */
  buckets?: readonly number[];
};

const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export const catalogue = {
  requestDuration: {
    name: 'plant_store_http_request_duration_seconds',
    type: 'histogram',
    labels: ['method', 'route', 'code'],
    of: 'replica',
    help:
      'From the arrival of a request to the end of its answer, by the pattern of its route. The route is "none" where ' +
      'no route took it: there is no such path, or not with that method, or it was refused before it was read. The code ' +
      'is 499 for a client that left before. Of GET /events/stream it is how long the stream was open; of what cannot ' +
      'be read as a request, 0.',
    buckets: DURATIONS,
  },
  requestsUnderWay: {
    name: 'plant_store_http_requests_under_way',
    type: 'gauge',
    labels: [],
    of: 'replica',
    help: 'Requests that have arrived and are not answered yet, open streams of events included.',
  },
  connections: {
    name: 'plant_store_http_connections',
    type: 'gauge',
    labels: [],
    of: 'replica',
    help: 'Connections of clients that are open.',
  },
  errors: {
    name: 'plant_store_http_errors_total',
    type: 'counter',
    labels: ['error'],
    of: 'replica',
    help: 'Failures that were answered, by the code in their body. Those of /healthz and /readyz are left out.',
  },
  listsReset: {
    name: 'plant_store_http_lists_reset_total',
    type: 'counter',
    labels: [],
    of: 'replica',
    help:
      'Lists that were broken off since too many waited for readers that take nothing, and theirs had waited longest: ' +
      `${list.readersPerToken} of one token, or ${list.readers} in all.`,
  },
  commitCommands: {
    name: 'plant_store_commit_commands',
    type: 'histogram',
    labels: ['queue'],
    of: 'replica',
    help: 'Commands that were committed together.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000],
  },
  commitDuration: {
    name: 'plant_store_commit_duration_seconds',
    type: 'histogram',
    labels: ['queue'],
    of: 'replica',
    help: 'From the beginning of a batch of commands until all of it was on disk, or had failed.',
    buckets: [0.0005, ...DURATIONS],
  },
  queueWait: {
    name: 'plant_store_write_queue_wait_seconds',
    type: 'histogram',
    labels: ['queue'],
    of: 'replica',
    help: 'How long the first command of each batch had waited when the batch began.',
    buckets: DURATIONS,
  },
  queueCommands: {
    name: 'plant_store_write_queue_commands',
    type: 'gauge',
    labels: ['queue'],
    of: 'replica',
    help: `Commands that wait for a commit; writes are refused (50300) from ${writes.queuedCommands} on.`,
  },
  queueAge: {
    name: 'plant_store_write_queue_age_seconds',
    type: 'gauge',
    labels: ['queue'],
    of: 'replica',
    help: `How long the first of them has waited; writes are refused (50300) beyond ${writes.queueAgeMs / 1000} s.`,
  },
  writeFailures: {
    name: 'plant_store_write_failures_total',
    type: 'counter',
    labels: ['error'],
    of: 'replica',
    help:
      'Commands that failed by a fault of the store: 50302 nothing was done, 50301 the outcome is unknown, 50000 a ' +
      'fault of the service.',
  },
  attempts: {
    name: 'plant_store_delivery_attempts_total',
    type: 'counter',
    labels: ['outcome'],
    of: 'replica',
    help:
      'Attempts to deliver: delivered, retrying (failed, and tried again), failed (for good, after the last attempt), ' +
      'not_made (given back without an attempt).',
  },
  attemptDuration: {
    name: 'plant_store_delivery_attempt_duration_seconds',
    type: 'histogram',
    labels: ['outcome'],
    of: 'replica',
    help: "From the look-up of the receiver's name to the end of its answer.",
    buckets: [...DURATIONS, 15],
  },
  deliveriesUnderWay: {
    name: 'plant_store_deliveries_under_way',
    type: 'gauge',
    labels: [],
    of: 'replica',
    help: `Deliveries that are being sent. ${delivery.inAll} at most.`,
  },
  lanes: {
    name: 'plant_store_delivery_lanes',
    type: 'gauge',
    labels: ['state'],
    of: 'replica',
    help:
      'Webhooks to which one attempt at a time is made: silent (the last attempt got no whole answer), failing (several ' +
      'failed one after the other; there are pauses between). Those to which none was made for ' +
      `${delivery.troubledMs / 1000} s are left out.`,
  },
  pauses: {
    name: 'plant_store_webhook_pauses_total',
    type: 'counter',
    labels: [],
    of: 'replica',
    help: 'Pauses that receivers asked for by Retry-After.',
  },
  disabled: {
    name: 'plant_store_webhooks_disabled_total',
    type: 'counter',
    labels: [],
    of: 'replica',
    help: 'Webhooks that the service disabled, since their receiver is gone or has failed for days.',
  },
  webhooks: {
    name: 'plant_store_webhooks',
    type: 'gauge',
    labels: ['status'],
    of: 'store',
    help: 'Webhooks that are enabled, paused (enabled, but their receiver asked for a pause) and disabled.',
  },
  oldestWaiting: {
    name: 'plant_store_oldest_waiting_delivery_age_seconds',
    type: 'gauge',
    labels: ['state'],
    of: 'store',
    help:
      'Age of the event of the oldest delivery that is pending (of an enabled webhook) or held (of a disabled one); 0 ' +
      'without one. A receiver that fails makes it grow until its schedule has ended.',
  },
  overdue: {
    name: 'plant_store_overdue_delivery_age_seconds',
    type: 'gauge',
    labels: [],
    of: 'store',
    help:
      'Since when the delivery is due that has waited for its attempt for longest, pauses left out; 0 when nothing ' +
      'waits. It grows while the service, or a receiver, is slower than the events are.',
  },
  readingAge: {
    name: 'plant_store_webhook_reading_age_seconds',
    type: 'gauge',
    labels: [],
    of: 'replica',
    help:
      'How old the three metrics about webhooks and waiting deliveries are: they are read every ' +
      `${observability.readEveryMs / 1000} s at most. From the start on, as long as they could not be read.`,
  },
  storeSize: {
    name: 'plant_store_size_bytes',
    type: 'gauge',
    labels: [],
    of: 'store',
    help: 'What the store takes on disk, its write-ahead log included; of PostgreSQL, the database.',
  },
  storeFree: {
    name: 'plant_store_disk_free_bytes',
    type: 'gauge',
    labels: [],
    of: 'store',
    help: 'What is free on the file system of the data folder. Absent with PostgreSQL, whose disk is elsewhere.',
  },
  loopActive: {
    name: 'plant_store_event_loop_active_seconds_total',
    type: 'counter',
    labels: [],
    of: 'replica',
    help: 'Time in which the main thread had something to do. Its rate is the share of the time; at 1 it can do no more.',
  },
  buildInfo: {
    name: 'plant_store_build_info',
    type: 'gauge',
    labels: ['version', 'node', 'store'],
    of: 'replica',
    help: 'Always 1; its labels say what runs: the version of the service and of Node, and the kind of store.',
  },
} as const satisfies Record<string, Metric>;

export type MetricKey = keyof typeof catalogue;

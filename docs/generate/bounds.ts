import type * as limits from '../../src/limits.ts';

type Groups = typeof limits;
type NameIn<G extends keyof Groups> = `${G}.${keyof Groups[G] & string}`;

/** A limit as the page names it: `http.bodyBytes`. */
export type LimitName = { [G in keyof Groups]: NameIn<G> }[keyof Groups];

/** What happens at each bound. A limit that is missing here is a type error. */
export const bounds: Readonly<Record<LimitName, string>> = {
  'http.bodyBytes': '413 `41300`, before the rest arrives; the connection is closed.',
  'http.headerBytes':
    '431 `43100`, or 414 `41400` while still in the request line; the connection is closed.',
  'http.urlBytes': '414 `41400`.',
  'http.tokenBytes': '400 `40005`.',
  'http.jsonDepth': '400 `40001`.',
  'http.headersMs': '408 `40800`; the connection is closed.',
  'http.requestMs': '408 `40800`; the connection is closed.',
  'http.checkEveryMs': 'A request that is too slow may last this much longer.',
  'http.keepAliveMs': 'The idle connection is closed.',
  'http.stalledReaderMs': 'The connection is closed.',
  'http.sweepEveryMs': 'A client that takes nothing may keep its connection this much longer.',
  'http.connections': 'A further connection is closed as soon as it is made.',
  'http.lingerMs': 'The connection is closed, whether its sender has read the answer or not.',
  'http.lingerBytes': 'The connection is closed, whether its sender has read the answer or not.',
  'http.idleCheckMs': 'The drain may last this much longer.',
  'http.drainMs': 'Connections that are still open are closed, in the middle of a request if need be.',
  'http.retryAfterSeconds': 'The value of `Retry-After` on 503.',
  'list.chunkPlants': 'A list of more is streamed, and at no moment is more than this held in memory.',
  'list.countedPlants': 'Other requests have their turn, then the count goes on.',
  'access.cachedTokens': 'The memory is emptied, and filled again from the store.',
  'access.userNameLength': '`user create` refuses the name, exit code 2.',
  'access.labelLength': '`token create` refuses the label, exit code 2.',
  'access.bootstrapTokenLength': 'The service does not start, exit code 2.',
  'writes.queuedCommands': '503 `50300` with `Retry-After`; nothing was done.',
  'writes.queuedBytes': '503 `50300` with `Retry-After`; nothing was done.',
  'writes.queueAgeMs': '503 `50300` with `Retry-After`; nothing was done.',
  'writes.batchCommands': 'The commands behind it go into the next transaction.',
  'writes.lockWaitMs': '503 `50302`; nothing was done. A verb of the command line fails, exit code 1.',
  'delivery.attemptMs': 'The attempt is cut short and counts as failed.',
  'delivery.leaseMs': 'The delivery is sent again; the late outcome is dropped, because its fence is old.',
  'delivery.answerReadBytes': 'The rest is not read and the connection is closed; the status counts.',
  'delivery.answerKeptBytes': 'The rest of the excerpt is dropped.',
  'delivery.perWebhook': 'Further deliveries to this webhook wait; those to others do not.',
  'delivery.inAll': 'Further deliveries wait. The fewer places are left, the fewer one webhook may take.',
  'delivery.share': 'Further deliveries to this webhook wait; those to others do not.',
  'delivery.pollMs': 'A delivery of which no hint was heard is found this much later.',
  'delivery.lookupMs': 'The webhook is made without the look-up; every attempt looks again.',
  'delivery.urlLength': '400 `40002`, or 422 `42201` when the URL becomes longer by escaping.',
  'delivery.descriptionLength': '400 `40002`.',
  'delivery.jitter': 'Each delay after the first attempt is spread by as much, either way.',
  'delivery.attempts': 'The service does not start, exit code 2.',
  'delivery.retryDelayMs': 'The service does not start, exit code 2.',
  'delivery.answerHeaderBytes': 'The attempt counts as failed.',
  'delivery.drainMs': 'Requests that are still under way are cut short, and sent again after the next start.',
  'delivery.storeRetryMs': 'The call is tried again, with a line in the log each time.',
  'delivery.silentWebhooks': 'The one that has been silent for longest is treated as any other again.',
  'delivery.importedKeys': 'The key that was not used for longest is imported again when it is needed.',
  'processes.lastAnswersMs': 'The process ends, with exit code 1.',
  'processes.signalEchoMs': 'A later signal ends the process at once.',
};

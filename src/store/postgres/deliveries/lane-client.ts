import { randomBytes } from 'node:crypto';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { parseDatabaseUrl } from '../../../config/database-url.ts';
import { startLeases } from '../../../webhooks/delivery/leases.ts';
import type { LaneNews } from '../../../webhooks/delivery/port.ts';
import type { DatabaseSource, LaneParts, Lanes, LanesOfMain } from '../../lane-threads.ts';
import { openDatabase } from '../engine/database.ts';
import { createDatabaseClock } from '../replicas/database-clock.ts';
import { nothingAnnounced } from '../replicas/hints.ts';
import { laneOwners } from '../replicas/lane-owners.ts';
import type { News } from '../replicas/news.ts';
import { laneReads } from './lanes.ts';
import { recordOutcomes } from './outcomes.ts';

type LanesOfMainParts = Omit<DatabaseSource, 'kind' | 'port'> & { news: News };

/** Passes hints to the sender thread, because only the main thread listens. */
export function createLanesOfMain({ news, ...source }: LanesOfMainParts): LanesOfMain & { close(): void } {
  let sender: MessagePort | undefined;

  news.onLanes((told) => sender?.postMessage(told));

  /** Lets the preferred replicas take lanes that were given back now instead of at their next search. */
  function announce(handedOver: readonly string[]): void {
    const lanes = handedOver.map((webhook) => ({ webhook, due: undefined }));
    void news.publish({ ...nothingAnnounced(), lanes });
  }

  return {
    // From its start a replica takes its share of the lanes, including those that others hold.
    hasWork: async () => true,
    onWork() {},
    couldNotRead() {},
    connect() {
      sender?.close();
      const { port1, port2 } = new MessageChannel();
      sender = port1;
      port1.on('message', announce);
      port1.unref();
      return { ...source, kind: 'postgres', port: port2 };
    },
    close: () => sender?.close(),
  };
}

/** Opens the lanes through connections of this thread, as a replica that sends what is in its own. */
export async function openDatabaseLanes(source: DatabaseSource, { log }: LaneParts): Promise<Lanes> {
  const { url, connections, pooled, port } = source;
  const database = openDatabase({ url: parseDatabaseUrl(url), connections, pooled, log });
  const clock = createDatabaseClock(() => performance.now());
  // Without lanes hints are of no use; unread, they would wait in memory.
  port.onmessage = () => {};
  const leases = await startLeases({
    store: laneOwners(database, clock),
    name: randomBytes(8).toString('hex'),
    log,
    onHandOver: (webhooks) => port.postMessage(webhooks),
  });
  const reads = laneReads(database);
  return {
    store: {
      findWork: (after, limit) => reads.findWork(leases.replica(), after, limit),
      read: reads.read,
      async record(outcomes) {
        const results = await recordOutcomes(database, leases.replica(), outcomes);
        leases.lost(outcomes.filter((_, n) => results[n] === 'lost'));
        return results;
      },
      suspect: reads.suspect,
      listen(listener) {
        port.onmessage = ({ data: { work, changed } }: { data: LaneNews }) =>
          listener({ work: work.filter(({ webhook }) => leases.isFor(webhook)), changed });
      },
    },
    owners: leases,
    // Receivers refuse requests from the future.
    clock: { now: clock.right },
    dueClock: clock,
    async close() {
      await leases.stop();
      port.close();
      await database.close();
    },
  };
}

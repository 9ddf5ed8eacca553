import type { EndedBatch, QueueReading } from '../../measures.ts';
import type { OwnedLanes } from '../../webhooks/delivery/owned-lanes.ts';
import type { LaneStore, Outcome, Recorded, Work } from '../../webhooks/delivery/port.ts';
import { type Announced, type Lane, nothingAnnounced } from './announced.ts';
import type { Database } from './database.ts';
import { type LaneLeases, type LeaseParts, startLeases } from './lane-owners.ts';
import { laneReads, NOTHING } from './lanes.ts';
import { recordOutcomes } from './records.ts';

export type LaneStoreParts = Pick<LeaseParts, 'log'> & {
  database: Pick<Database, 'read' | 'write'>;
  news: {
    onWork(listener: (lanes: readonly Lane[]) => void): void;
    onChange(listener: (webhook: string) => void): void;
    publish(announced: Announced): Promise<void>;
  };
  batchEnded: ((batch: EndedBatch) => void) | undefined;
};

/** Deliveries as a replica sees them that sends what is in its own lanes, and in those that nobody has. */
export function createLaneStore({ database, log, news, batchEnded }: LaneStoreParts) {
  const reads = laneReads(database);
  const changeListeners: ((webhook: string) => void)[] = [];
  let leases: LaneLeases | undefined;
  let recording: { outcomes: number; since: number } | undefined;

  function changed(webhook: string): void {
    for (const listener of changeListeners) listener(webhook);
  }

  /** Their favourites take them now, and not when they next search. */
  function handOver(webhooks: readonly string[]): void {
    const lanes = webhooks.map((webhook) => ({ subscriber: NOBODY, webhook, due: undefined }));
    void news.publish({ ...nothingAnnounced(), lanes });
  }

  async function record(outcomes: readonly Outcome[]): Promise<Recorded[]> {
    const since = performance.now();
    recording = { outcomes: outcomes.length, since };
    try {
      const results = await recordOutcomes(database, leases?.replica() ?? '', outcomes);
      leases?.lost(outcomes.filter((_, n) => results[n] === 'lost'));
      const commitMs = performance.now() - since;
      batchEnded?.({ commands: outcomes.length, waitMs: 0, commitMs, failures: [] });
      return results;
    } finally {
      recording = undefined;
    }
  }

  const lanes: LaneStore = {
    findWork: (after, limit) => reads.findWork(leases?.replica() ?? '', after, limit),
    // What is under way of a lane that is to be handed over comes to its end, and no more is begun.
    read: async (request) => (leases?.isLeaving(request.webhook) ? NOTHING : reads.read(request)),
    record,
    suspect: reads.suspect,
    onWork(listener) {
      news.onWork((announced) => {
        const own = announced.filter(({ webhook }) => leases?.isFor(webhook) ?? true);
        if (own.length > 0) listener(own.map(toWork));
      });
    },
    onChange: (listener) => void changeListeners.push(listener),
  };
  news.onChange(changed);

  return {
    lanes,
    /** Begins to own lanes: for a replica that dispatches. */
    async own(): Promise<OwnedLanes> {
      leases = await startLeases({ database, log, onChange: changed, onHandOver: handOver });
      return leases;
    },
    close: async () => leases?.stop(),
    reading: (): QueueReading => ({
      queue: 'dispatch',
      commands: recording?.outcomes ?? 0,
      ageMs: recording ? performance.now() - recording.since : 0,
    }),
  };
}

/** Only replicas of the version before look at whose webhook it is; these take it for one that is gone. */
const NOBODY = 0;

function toWork({ webhook, due, isAsked }: Lane): Work {
  return { webhook, due, isAsked };
}

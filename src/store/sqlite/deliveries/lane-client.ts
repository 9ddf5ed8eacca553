import type { DatabaseSync } from 'node:sqlite';
import { steadyClock } from '../../../runtime.ts';
import type { LaneNews, LaneStore, Recorded } from '../../../webhooks/delivery/port.ts';
import { soleOwner } from '../../../webhooks/delivery/sole-owner.ts';
import { COMMAND_BYTES, groupCommit } from '../../batch.ts';
import type { EmbeddedSource, LaneParts, Lanes } from '../../lane-threads.ts';
import { readLane } from '../../rows.ts';
import { unavailable } from '../../write-outcomes.ts';
import { accessEpoch } from '../access/visible-owners.ts';
import { openConnection } from '../engine/connection.ts';
import { explain, isEnvironment, toPlain } from '../engine/failure.ts';
import { createSnapshot, type Snapshot } from '../engine/snapshot.ts';
import type { Command } from '../engine/writer.ts';
import { sentBatches, type WriterReply } from '../engine/writer-reply.ts';
import { findWork, laneReads } from './lanes.ts';

const clock = { now: Date.now };

/** Reads through a connection of this thread; writes go directly to the writer thread. */
export function openEmbeddedLanes({ path, port }: EmbeddedSource, parts: LaneParts): Lanes {
  const { isCareful, couldNotRead } = parts;
  const db = openConnection(path, { readOnly: true });
  const snapshot = createSnapshot(db, {
    readFailed(error) {
      if (!isEnvironment(error)) return error;
      couldNotRead(toPlain(unavailable(error)));
      return unavailable(explain(error, { path }));
    },
  });
  const lanes = laneReads(db);
  let tell = (_: LaneNews) => {};
  const changedElsewhere = changesElsewhere(db, snapshot);
  const batches = sentBatches((commands) => port.postMessage(commands));
  port.on('message', (message: WriterReply | LaneNews) => {
    if (!('work' in message)) return batches.answered(message);
    snapshot.end();
    tell(message);
  });
  port.on('close', () => batches.end());
  const dueClock = steadyClock(clock);
  const commits = groupCommit<Command>(
    async (commands) => {
      try {
        return (await batches.execute(commands)).outcomes;
      } finally {
        snapshot.end();
      }
    },
    { isUnbounded: true },
  );

  const submit = (command: Command) => commits.submit(command, COMMAND_BYTES);
  const store: LaneStore = {
    async findWork(after, limit) {
      if (after === undefined) tell({ work: [], changed: changedElsewhere() });
      return findWork(snapshot, lanes, after, limit);
    },
    read: (request) =>
      readLane(
        () => snapshot.read(() => lanes.read(request, Math.min(request.now, clock.now()))),
        (events) => submit(['giveUp', undefined, undefined, request.webhook, events]),
      ),
    record: (outcomes) =>
      // The writer's result for this command.
      submit(['record', undefined, undefined, outcomes]) as Promise<Recorded[]>,
    async suspect(...of) {
      await submit(['suspect', undefined, undefined, ...of]);
    },
    listen(listener) {
      tell = listener;
    },
  };
  return {
    store,
    owners: soleOwner(store, isCareful),
    clock,
    dueClock,
    async close(): Promise<void> {
      await commits.close();
      snapshot.end();
      port.close();
      db.close();
    },
  };
}

/** The webhooks that other processes, such as the command line, may have changed since the last call. */
function changesElsewhere(db: DatabaseSync, snapshot: Snapshot): () => string[] {
  const epoch = accessEpoch(db, snapshot);
  const all = db.prepare('SELECT id FROM webhooks');
  let known = epoch();
  return () => {
    const now = epoch();
    if (now === known) return [];
    known = now;
    return snapshot.read(() => all.all().map(({ id }) => String(id)));
  };
}

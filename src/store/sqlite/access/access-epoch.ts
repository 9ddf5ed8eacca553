import type { DatabaseSync } from 'node:sqlite';
import type { Snapshot } from '../engine/snapshot.ts';

/** The number that changes with every change of tokens, users or shares; read once for each snapshot. */
export function accessEpoch(db: DatabaseSync, snapshot: Snapshot): () => number {
  const query = db.prepare(`SELECT value FROM meta WHERE name = 'access_epoch'`);
  const known = { generation: -1, epoch: -1 };
  const read = () => {
    if (known.generation !== snapshot.generation()) {
      known.epoch = Number(query.get()?.value);
      // After the read, which may fail.
      known.generation = snapshot.generation();
    }
    return known.epoch;
  };
  return () => snapshot.read(read);
}

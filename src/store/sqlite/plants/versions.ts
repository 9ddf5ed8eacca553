import type { DatabaseSync } from 'node:sqlite';
import { list as limits } from '../../../limits.ts';
import type { VisibleOwners } from '../access/visible-owners.ts';
import { countLogPages } from '../engine/checkpoint.ts';
import type { Snapshot } from '../engine/snapshot.ts';

/**
 * Versions of the plants of each owner, in memory that all threads share: a list is unchanged while the versions of the
 * owners that it shows are, and the access epoch, and no other process has committed.
 *
 * A version is odd while a commit changes the owner's plants: from before COMMIT, and so before anybody can see or learn
 * of it, until after it, but before anybody is told. While it is odd, a list is unchanged only within a snapshot. So a
 * request that follows an answer, or a delivery, finds the version changed or odd.
 */
export type Versions = Int32Array<SharedArrayBuffer>;

/** The length of the write-ahead log after our last commit, in pages. */
const LOG = 0;
/** Counts the commits of other processes that the writer has noticed. */
const OTHERS = 1;
const FIRST = 2;

export function createVersions(): Versions {
  return new Int32Array(new SharedArrayBuffer(4 * (FIRST + limits.versions)));
}

/** Owners may share a version: then some lists are read again without need. */
function placeOf(owner: number): number {
  return FIRST + (owner % limits.versions);
}

export type VersionWrites = ReturnType<typeof versionWrites>;

/** The writer's part. Nobody else writes to the versions. */
export function versionWrites(db: DatabaseSync, versions: Versions) {
  const dataVersion = readDataVersion(db);
  const touched = new Set<number>();
  let known = dataVersion();
  const add = (place: number) => Atomics.add(versions, place, 1);

  function noticeOthers(): void {
    const now = dataVersion();
    if (now !== known) add(OTHERS);
    known = now;
  }

  return {
    /** Call it at the start of a transaction. */
    begin(): void {
      touched.clear();
      noticeOthers();
    },
    /**
     * The transaction changes the plants of this owner. Chores need not call it: nobody sees the plants of a deleted
     * user, and no list by name is answered before its names are folded.
     */
    touch: (owner: number) => void touched.add(placeOf(owner)),
    /** Commits, and returns what that returns: the length of the log. */
    around(commit: () => number): number {
      touched.forEach(add);
      try {
        const logPages = commit();
        // Another commit may have come before the log was measured: readers would take it for ours.
        noticeOthers();
        Atomics.store(versions, LOG, logPages);
        return logPages;
      } finally {
        touched.forEach(add);
      }
    },
  };
}

/**
 * The readers' part: `PlantStore.stamp`. Versions only grow, so their sum stays the same exactly when all of them do.
 *
 * `data_version` shows that somebody has committed since the last look. It was our writer alone if the log is as long as
 * after our last commit: another commit makes it longer or, after a checkpoint, begins it again with far fewer pages. The
 * writer itself notices commits before its own. When our own commit is over but not yet noted, it counts as another's,
 * which only costs reading again.
 */
export function versionReads(
  db: DatabaseSync,
  parts: { snapshot: Snapshot; epoch: () => number; visible: VisibleOwners; versions: Versions },
) {
  const { snapshot, epoch, visible, versions } = parts;
  const dataVersion = readDataVersion(db);
  const logPages = countLogPages(db);
  let generation = -1;
  let known = -1;
  let others = 0;
  /** The last stamp that a snapshot had to be as new as, and that snapshot. */
  let fresh = { viewer: -1, stamp: '', generation: -1 };

  function lookForOthers(): void {
    if (generation === snapshot.generation()) return;
    const now = dataVersion();
    generation = snapshot.generation();
    if (now === known) return;
    known = now;
    // SQLite tells the length of the log between transactions only.
    snapshot.end();
    if (logPages() !== Atomics.load(versions, LOG)) others++;
  }

  /** The snapshot may be older than the stamp, unless it began for the same one. */
  function readAfter(viewer: number, stamp: string): void {
    const generation = snapshot.generation();
    if (fresh.viewer === viewer && fresh.stamp === stamp && fresh.generation === generation) return;
    snapshot.end();
    fresh = { viewer, stamp, generation: generation + 1 };
  }

  return (viewer: number, isBeforeReading = false): string => {
    snapshot.read(lookForOthers);
    const access = epoch();
    let sum = others + Atomics.load(versions, OTHERS);
    for (const owner of visible.of(viewer)) {
      const version = Atomics.load(versions, placeOf(owner));
      if (version & 1) return `snapshot ${snapshot.generation()}`;
      sum += version;
    }
    const stamp = `${access} ${sum}`;
    if (isBeforeReading) readAfter(viewer, stamp);
    return stamp;
  };
}

function readDataVersion(db: DatabaseSync): () => number {
  const query = db.prepare('PRAGMA data_version');
  return () => Number(query.get()?.data_version);
}

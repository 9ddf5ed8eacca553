import type { Ledger } from '../crash/ledger.ts';

/**
 * Notes what was answered when the power is cut. Call the returned function when all clients have ended: it discards
 * later answers. A machine without power answers nothing, but one whose file system is shut down does, and a flush in
 * progress then reports success although it failed.
 */
export function noteCut({ entries, unknown, violations }: Ledger): () => void {
  const known = new Map([...entries].map(([name, { state }]) => [name, state]));
  const count = violations.length;
  return () => {
    violations.length = count;
    for (const entry of entries.values()) {
      if (entry.state === 'unknown' || entry.state === known.get(entry.name)) continue;
      entry.state = 'unknown';
      // Ids that clients choose are negative. Another plant may get one that the service assigned.
      if (entry.id !== undefined && entry.id < 0n) unknown.push(entry);
      else entry.id = undefined;
    }
  };
}

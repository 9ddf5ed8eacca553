import type { DatabaseSync } from 'node:sqlite';

/**
 * How webhooks stand: when the next of their deliveries is due, and since when they fail. A transaction notes what
 * happens and writes it down once for each webhook, before its commit.
 */
export type Standings = {
  /** Deliveries of the webhook changed. */
  changed(webhook: string): void;
  succeeded(webhook: string, at: number): void;
  failed(webhook: string, at: number): void;
  write(): void;
  /** For the beginning of a transaction: one that was rolled back took its notes with it. */
  forget(): void;
};

/** `failingSince`: undefined leaves it, null clears it, a time holds from the first failure after a success. */
type Notes = { successAt?: number; failureAt?: number; failingSince?: number | null };

export function createStandings(db: DatabaseSync): Standings {
  const update = db.prepare(
    `UPDATE webhooks
     SET next_due = (
           SELECT max(due, coalesce(webhooks.paused_until, 0))
           FROM deliveries
           WHERE webhook = webhooks.id AND state = 'pending'
           ORDER BY due
           LIMIT 1
         ),
         last_success_at = coalesce(?, last_success_at),
         last_failure_at = coalesce(?, last_failure_at),
         failing_since = CASE WHEN ? THEN ? ELSE coalesce(failing_since, ?) END
     WHERE id = ?`,
  );
  const notes = new Map<string, Notes>();

  function notesOf(webhook: string): Notes {
    const known = notes.get(webhook) ?? {};
    notes.set(webhook, known);
    return known;
  }

  return {
    changed: (webhook) => void notesOf(webhook),
    succeeded(webhook, at) {
      Object.assign(notesOf(webhook), { successAt: at, failingSince: null });
    },
    failed(webhook, at) {
      const known = notesOf(webhook);
      known.failureAt = at;
      if (known.failingSince !== undefined) known.failingSince ??= at;
    },
    write() {
      for (const [webhook, { successAt, failureAt, failingSince }] of notes) {
        const settled = failingSince !== undefined;
        update.run(
          successAt ?? null,
          failureAt ?? null,
          settled ? 1 : 0,
          failingSince ?? null,
          failureAt ?? null,
          webhook,
        );
      }
      notes.clear();
    },
    forget: () => notes.clear(),
  };
}

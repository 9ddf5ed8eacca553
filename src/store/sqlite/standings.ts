import type { DatabaseSync } from 'node:sqlite';

/**
 * How webhooks stand: when the next of their deliveries is due, and since when they fail. A transaction notes what
 * happens and writes it down once for each webhook, before its commit.
 */
export type Standings = {
  /** Deliveries of the webhook changed. */
  changed(webhook: string): void;
  /** Deliveries of the webhook were dealt out. */
  claimed(webhook: string, at: number): void;
  succeeded(webhook: string, at: number): void;
  failed(webhook: string, at: number): void;
  write(): void;
  /** For the beginning of a transaction: one that was rolled back took its notes with it. */
  forget(): void;
};

/** `failingSince`: undefined leaves it, null clears it, a time holds from the first failure after a success. */
type Notes = { claimedAt?: number; successAt?: number; failureAt?: number; failingSince?: number | null };

export function createStandings(db: DatabaseSync): Standings {
  const update = db.prepare(
    `UPDATE webhooks
     SET next_due = (
           SELECT max(due, coalesce(webhooks.paused_until, 0), coalesce(?1, webhooks.claimed_at, 0))
           FROM deliveries
           WHERE webhook = webhooks.id AND state = 'pending'
           ORDER BY due
           LIMIT 1
         ),
         claimed_at = coalesce(?1, claimed_at),
         last_success_at = coalesce(?2, last_success_at),
         last_failure_at = coalesce(?3, last_failure_at),
         failing_since = CASE WHEN ?4 THEN ?5 ELSE coalesce(failing_since, ?3) END
     WHERE id = ?6`,
  );
  const notes = new Map<string, Notes>();

  function notesOf(webhook: string): Notes {
    const known = notes.get(webhook) ?? {};
    notes.set(webhook, known);
    return known;
  }

  return {
    changed: (webhook) => void notesOf(webhook),
    claimed(webhook, at) {
      notesOf(webhook).claimedAt = at;
    },
    succeeded(webhook, at) {
      Object.assign(notesOf(webhook), { successAt: at, failingSince: null });
    },
    failed(webhook, at) {
      const known = notesOf(webhook);
      known.failureAt = at;
      if (known.failingSince !== undefined) known.failingSince ??= at;
    },
    write() {
      for (const [webhook, { claimedAt, successAt, failureAt, failingSince }] of notes) {
        const settled = failingSince !== undefined;
        update.run(
          claimedAt ?? null,
          successAt ?? null,
          failureAt ?? null,
          settled ? 1 : 0,
          failingSince ?? null,
          webhook,
        );
      }
      notes.clear();
    },
    forget: () => notes.clear(),
  };
}

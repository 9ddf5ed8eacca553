/** What a transaction wrote for others to look at: this replica's own dispatcher and streams, and other replicas. */
export type Announced = {
  /** Webhooks of which deliveries are due, or will be: not before `due`, which undefined leaves open. */
  lanes: Lane[];
  /** Whose events were written. */
  owners: number[];
  /** Webhooks that were deleted, or are sent to elsewhere, or not, or again. */
  changed: string[];
  /** Whether tokens, users or shares changed. */
  access: boolean;
};

export type Lane = {
  subscriber: number;
  webhook: string;
  due: number | undefined;
  /** Whether a person asked for one of them. */
  isAsked?: boolean;
};

export function nothingAnnounced(): Announced {
  return { lanes: [], owners: [], changed: [], access: false };
}

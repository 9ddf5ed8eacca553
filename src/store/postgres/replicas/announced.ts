/** What the dispatcher and streams of this replica, and other replicas, must learn from a transaction. */
export type Announced = {
  /** Webhooks with deliveries due at `due` or later; undefined for unknown. */
  lanes: DueLane[];
  /** The owners of new events. */
  owners: number[];
  /** Webhooks that were deleted, disabled, enabled, or got another URL. */
  changed: string[];
  /** Whether tokens, users or shares changed. */
  access: boolean;
};

/** A webhook with deliveries that are due. */
export type DueLane = {
  webhook: string;
  due: number | undefined;
  /** Whether a person requested one of them. */
  isAsked?: boolean;
};

export function nothingAnnounced(): Announced {
  return { lanes: [], owners: [], changed: [], access: false };
}

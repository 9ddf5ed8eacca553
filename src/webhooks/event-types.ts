/**
 * The types of events, and who learns of each: the one place that says so, of which both stores make their SQL. What
 * writes events of a new type comes with a migration that admits it in the schema, and on PostgreSQL in the index of the
 * feed.
 */
const rules = {
  'plant.created': { isInFeed: true, isSent: true },
  /** For the one webhook whose owner asked for it. */
  'plant.test': { isInFeed: false, isSent: true },
} as const satisfies Record<string, Rules>;

type Rules = {
  /** In feeds, for everybody who sees the plant, and sent anew by a replay of everything. */
  isInFeed: boolean;
  /** To webhooks for which there is a delivery of it. */
  isSent: boolean;
};

export type EventType = keyof typeof rules;

// They are the keys of the table, which `Object.keys` types as any texts.
export const eventTypes = Object.keys(rules) as EventType[];
export const feedTypes = eventTypes.filter((type) => rules[type].isInFeed);
export const sentTypes = eventTypes.filter((type) => rules[type].isSent);

/**
 * The types of events. Each is sent to the webhooks that have a delivery of it. Both stores build their SQL from this
 * table only. A new type also needs a migration that admits it in the schema and, on PostgreSQL, in the index of the
 * feed.
 */
const rules = {
  'plant.created': { isInFeed: true },
  /** For the webhook whose owner requested it. */
  'plant.test': { isInFeed: false },
} as const satisfies Record<string, Rules>;

type Rules = {
  /** In the feeds of everybody who sees the plant, and resent by a replay of everything. */
  isInFeed: boolean;
};

export type EventType = keyof typeof rules;

// The keys of the table, which `Object.keys` types as strings.
export const eventTypes = Object.keys(rules) as EventType[];
export const feedTypes = eventTypes.filter((type) => rules[type].isInFeed);

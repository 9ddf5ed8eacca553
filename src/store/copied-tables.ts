/** What a copy from one store to another moves: the tables as the target has them. */

/** How a value is written as text: an integer in decimal, a boolean as `true` or `false`. */
export type ColumnType = 'integer' | 'text' | 'boolean';

export type CopiedTable = {
  name: string;
  /** Columns by which the target finds a row. */
  key: readonly string[];
  columns: Readonly<Record<string, ColumnType>>;
};

/**
 * Each behind those that its rows refer to. What a store works out by itself is left out: counts, when a webhook is due
 * next, the tokens of a rate.
 */
export const copiedTables: readonly CopiedTable[] = [
  {
    name: 'users',
    key: ['id'],
    columns: {
      id: 'integer',
      name: 'text',
      created_at: 'integer',
      disabled_at: 'integer',
      deleted_at: 'integer',
    },
  },
  {
    name: 'assigned_ids',
    key: ['owner'],
    columns: { owner: 'integer', last: 'integer' },
  },
  {
    name: 'tokens',
    key: ['hash'],
    columns: {
      hash: 'text',
      id: 'text',
      user_id: 'integer',
      label: 'text',
      scopes: 'text',
      bootstrap: 'boolean',
      created_at: 'integer',
      expires_at: 'integer',
      revoked_at: 'integer',
      replaced_by: 'text',
    },
  },
  {
    name: 'shares',
    key: ['owner', 'viewer'],
    columns: {
      owner: 'integer',
      viewer: 'integer',
      created_at: 'integer',
      removed_tx: 'integer',
      removed_event: 'text',
    },
  },
  {
    name: 'webhooks',
    key: ['owner', 'id'],
    columns: {
      owner: 'integer',
      id: 'text',
      url: 'text',
      description: 'text',
      rate: 'integer',
      status: 'text',
      disabled_reason: 'text',
      paused_until: 'integer',
      failing_since: 'integer',
      last_success_at: 'integer',
      last_failure_at: 'integer',
      private_key: 'text',
      public_key: 'text',
      created_at: 'integer',
    },
  },
  {
    name: 'webhook_secrets',
    key: ['webhook', 'created_at', 'secret'],
    columns: { webhook: 'text', created_at: 'integer', secret: 'text', expires_at: 'integer' },
  },
  {
    name: 'plants',
    key: ['owner', 'id'],
    columns: { owner: 'integer', id: 'integer', name: 'text', tag: 'text', created_at: 'integer' },
  },
  {
    name: 'events',
    key: ['owner', 'id'],
    columns: {
      owner: 'integer',
      id: 'text',
      tx: 'integer',
      type: 'text',
      plant: 'integer',
      name: 'text',
      tag: 'text',
      created_at: 'integer',
      trace: 'text',
    },
  },
  {
    name: 'removed_events',
    key: ['owner'],
    columns: { owner: 'integer', tx: 'integer', event: 'text' },
  },
  {
    name: 'deliveries',
    key: ['subscriber', 'webhook', 'event'],
    columns: {
      subscriber: 'integer',
      webhook: 'text',
      event: 'text',
      owner: 'integer',
      state: 'text',
      attempts: 'integer',
      step: 'integer',
      due: 'integer',
      leased: 'boolean',
      fence: 'integer',
      reason: 'text',
    },
  },
  {
    name: 'attempts',
    key: ['subscriber', 'webhook', 'event', 'fence'],
    columns: {
      subscriber: 'integer',
      webhook: 'text',
      event: 'text',
      fence: 'integer',
      at: 'integer',
      duration_ms: 'integer',
      address: 'text',
      status: 'integer',
      excerpt: 'text',
      error: 'text',
    },
  },
  {
    name: 'replays',
    key: ['id'],
    columns: {
      id: 'integer',
      subscriber: 'integer',
      webhook: 'text',
      hastens: 'boolean',
      state: 'text',
      next: 'text',
      through: 'text',
    },
  },
  {
    name: 'withdrawals',
    key: ['webhook', 'owner'],
    columns: { subscriber: 'integer', webhook: 'text', owner: 'integer', next: 'text', through: 'text' },
  },
  {
    name: 'idempotency',
    key: ['user_id', 'request'],
    columns: {
      user_id: 'integer',
      request: 'text',
      fingerprint: 'text',
      status: 'integer',
      location: 'text',
      body: 'text',
      expires_at: 'integer',
    },
  },
];

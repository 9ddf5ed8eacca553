ALTER TABLE webhooks RENAME TO webhooks_1;
ALTER TABLE webhook_secrets RENAME TO webhook_secrets_1;
ALTER TABLE deliveries RENAME TO deliveries_1;
DROP INDEX deliveries_due;
DROP INDEX deliveries_leased;

ALTER TABLE events ADD COLUMN type TEXT NOT NULL DEFAULT 'plant.created' CHECK (type IN ('plant.created', 'plant.test'));

CREATE TABLE webhooks (
  owner           INTEGER NOT NULL REFERENCES users (id),
  id              TEXT NOT NULL UNIQUE,
  url             TEXT NOT NULL,
  description     TEXT,
  rate            INTEGER,
  -- A deleted one is there until its deliveries are gone.
  status          TEXT NOT NULL CHECK (status IN ('enabled', 'disabled', 'deleted')),
  disabled_reason TEXT,
  paused_until    INTEGER,
  -- The first failure since the last success.
  failing_since   INTEGER,
  last_success_at INTEGER,
  last_failure_at INTEGER,
  -- When it was last dealt to: those that were dealt to longest ago come first.
  claimed_at      INTEGER,
  -- When the first of its pending deliveries is due, leases included, but not before the two times above; kept by
  -- each transaction that changes one.
  next_due        INTEGER,
  private_key     TEXT NOT NULL,
  public_key      TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- What may be claimed, however many webhooks there are.
CREATE INDEX webhooks_due ON webhooks (next_due) WHERE status = 'enabled' AND next_due IS NOT NULL;
CREATE INDEX webhooks_deleted ON webhooks (id) WHERE status = 'deleted';

CREATE TABLE webhook_secrets (
  webhook    TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  secret     TEXT NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (webhook, created_at, secret)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
  webhook  TEXT NOT NULL REFERENCES webhooks (id),
  event    TEXT NOT NULL,
  owner    INTEGER NOT NULL,
  -- A pending delivery of a disabled webhook is what the service calls held.
  state    TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  -- Attempts since its schedule began, which a redelivery begins anew.
  step     INTEGER NOT NULL,
  -- While it is pending: when it may be claimed. A claim moves it to the end of its lease.
  due      INTEGER NOT NULL,
  leased   INTEGER NOT NULL CHECK (leased IN (0, 1)),
  -- Raised by each claim: an outcome that carries an older one comes too late and changes nothing.
  fence    INTEGER NOT NULL,
  reason   TEXT,
  PRIMARY KEY (webhook, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  webhook     TEXT NOT NULL,
  event       TEXT NOT NULL,
  -- Of the claim: each claim makes one attempt at most.
  fence       INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  address     TEXT,
  status      INTEGER,
  excerpt     TEXT,
  error       TEXT,
  PRIMARY KEY (webhook, event, fence),
  FOREIGN KEY (webhook, event) REFERENCES deliveries (webhook, event) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE replays (
  id      INTEGER PRIMARY KEY,
  webhook TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  owner   INTEGER NOT NULL,
  -- Whether it is the one that a change of the webhook makes, so that what waits is due at once.
  hastens INTEGER NOT NULL CHECK (hastens IN (0, 1)),
  -- Only deliveries in this state; without it every event.
  state   TEXT CHECK (state IN ('pending', 'delivered', 'failed')),
  -- It goes on at this event or, when there is none, the one behind it.
  next    TEXT NOT NULL,
  through TEXT NOT NULL
) STRICT;

CREATE INDEX replays_by_webhook ON replays (webhook);
CREATE UNIQUE INDEX replays_hastening ON replays (webhook) WHERE hastens = 1;

-- The newest event of each owner that was removed for its age: a cursor before it would skip events.
CREATE TABLE removed_events (
  owner INTEGER NOT NULL PRIMARY KEY REFERENCES users (id),
  event TEXT NOT NULL
) STRICT;

INSERT INTO webhooks (owner, id, url, description, status, private_key, public_key, created_at, next_due)
SELECT owner, id, url, description, status, private_key, public_key, created_at,
  (SELECT min(due) FROM deliveries_1 WHERE webhook = webhooks_1.id AND state = 'pending')
FROM webhooks_1;

INSERT INTO webhook_secrets (webhook, created_at, secret)
SELECT webhook, created_at, secret
FROM webhook_secrets_1;

INSERT INTO deliveries (webhook, event, owner, state, attempts, step, due, leased, fence, reason)
SELECT webhook, event, owner, state, attempts, attempts, due, leased, fence, reason
FROM deliveries_1
ORDER BY webhook, event;

DROP TABLE deliveries_1;
DROP TABLE webhook_secrets_1;
DROP TABLE webhooks_1;

-- Claims.
CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE state = 'pending';
CREATE INDEX deliveries_leased ON deliveries (webhook, event) WHERE leased = 1;
-- Lists and counts of one state, and replays.
CREATE INDEX deliveries_by_state ON deliveries (webhook, state, event);

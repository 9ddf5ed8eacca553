-- A disabled user's tokens are refused and their webhooks wait. One that is deleted is gone for everybody and has lost
-- the name, while plants and events go slice by slice.
ALTER TABLE users ADD COLUMN disabled_at INTEGER;
ALTER TABLE users ADD COLUMN deleted_at INTEGER;

CREATE INDEX users_deleted ON users (id) WHERE deleted_at IS NOT NULL;

-- The id of the token that took its place.
ALTER TABLE tokens ADD COLUMN replaced_by TEXT;

-- All plants of the owner, for the viewer to read.
CREATE TABLE shares (
  owner      INTEGER NOT NULL REFERENCES users (id),
  viewer     INTEGER NOT NULL REFERENCES users (id),
  created_at INTEGER NOT NULL,
  -- The newest event of the owner that had been removed for its age by then: no cursor of the viewer skips it.
  removed    TEXT,
  PRIMARY KEY (owner, viewer)
) STRICT, WITHOUT ROWID;

CREATE INDEX shares_by_viewer ON shares (viewer, owner);

-- Deliveries of a share that was removed, which go slice by slice: those of the owner's events to the webhook.
CREATE TABLE withdrawals (
  webhook TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  owner   INTEGER NOT NULL,
  -- It goes on at this event or, when there is none, the one behind it.
  next    TEXT NOT NULL,
  through TEXT NOT NULL,
  PRIMARY KEY (webhook, owner)
) STRICT, WITHOUT ROWID;

-- The answer to a request with an Idempotency-Key, written in the transaction of its effect.
CREATE TABLE idempotency (
  user        INTEGER NOT NULL REFERENCES users (id),
  method      TEXT NOT NULL,
  path        TEXT NOT NULL,
  key         TEXT NOT NULL,
  -- SHA-256 of the request's body, in hexadecimal.
  fingerprint TEXT NOT NULL,
  status      INTEGER NOT NULL,
  location    TEXT,
  body        TEXT NOT NULL,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (user, method, path, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_expiring ON idempotency (expires_at);

-- What was derived from shares holds as long as the access epoch stays.
CREATE TRIGGER shares_added AFTER INSERT ON shares BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;
CREATE TRIGGER shares_removed AFTER DELETE ON shares BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;

-- The highest id that a user had who is gone.
INSERT INTO meta VALUES ('last_user', 0);

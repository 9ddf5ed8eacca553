CREATE TABLE users (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  hash       TEXT NOT NULL PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  user       INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  label      TEXT NOT NULL,
  scopes     TEXT NOT NULL,
  bootstrap  INTEGER NOT NULL CHECK (bootstrap IN (0, 1)),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_user ON tokens (user);

-- Clustered by owner and id: a list walks one range of the table, a page deep in it costs what the first does.
CREATE TABLE plants (
  owner      INTEGER NOT NULL REFERENCES users (id),
  id         INTEGER NOT NULL,
  name       TEXT NOT NULL,
  tag        TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

-- The plant as it was created, because it may be deleted before its event is delivered.
CREATE TABLE events (
  owner      INTEGER NOT NULL REFERENCES users (id),
  id         TEXT NOT NULL,
  plant      INTEGER NOT NULL,
  name       TEXT NOT NULL,
  tag        TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhooks (
  owner       INTEGER NOT NULL REFERENCES users (id),
  id          TEXT NOT NULL UNIQUE,
  url         TEXT NOT NULL,
  description TEXT,
  status      TEXT NOT NULL CHECK (status IN ('enabled', 'disabled')),
  private_key TEXT NOT NULL,
  public_key  TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_secrets (
  webhook    TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  secret     TEXT NOT NULL,
  PRIMARY KEY (webhook, created_at, secret)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
  webhook  TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event    TEXT NOT NULL,
  owner    INTEGER NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  -- While it is pending: when it may be claimed. A claim moves it to the end of its lease.
  due      INTEGER NOT NULL,
  leased   INTEGER NOT NULL CHECK (leased IN (0, 1)),
  -- Raised by each claim: an outcome that carries an older one comes too late and changes nothing.
  fence    INTEGER NOT NULL,
  reason   TEXT,
  PRIMARY KEY (webhook, event)
) STRICT, WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE state = 'pending';
CREATE INDEX deliveries_leased ON deliveries (webhook, event) WHERE leased = 1;

CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a lookup of a token answered holds as long as this number stays: other processes change tokens too.
INSERT INTO meta VALUES ('access_epoch', 0);
INSERT INTO meta VALUES ('key', random() & 0xffffffff);

CREATE TRIGGER tokens_changed AFTER UPDATE ON tokens BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;
CREATE TRIGGER tokens_deleted AFTER DELETE ON tokens BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;
CREATE TRIGGER users_changed AFTER UPDATE ON users BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;

-- A deleted user has no name. SQLite before 3.53 cannot drop a NOT NULL, so the table is made anew; `migrate` enforces
-- no foreign keys meanwhile.
CREATE TABLE users_8 (
  id          INTEGER PRIMARY KEY,
  name        TEXT UNIQUE,
  created_at  INTEGER NOT NULL,
  disabled_at INTEGER,
  deleted_at  INTEGER,
  CHECK ((name IS NULL) = (deleted_at IS NOT NULL))
) STRICT;

INSERT INTO users_8
SELECT id, iif(deleted_at IS NULL, name, NULL), created_at, disabled_at, deleted_at
FROM users
ORDER BY id;

DROP TABLE users;
ALTER TABLE users_8 RENAME TO users;

-- Both went with the old table.
CREATE INDEX users_deleted ON users (id) WHERE deleted_at IS NOT NULL;
CREATE TRIGGER users_changed AFTER UPDATE ON users BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;

-- The UTC day of the last use, YYYY-MM-DD. Writing it changes nothing that is cached of the token.
ALTER TABLE tokens ADD COLUMN last_used_on TEXT;

DROP TRIGGER tokens_changed;
CREATE TRIGGER tokens_changed AFTER UPDATE OF scopes, expires_at, revoked_at, replaced_by ON tokens BEGIN
  UPDATE meta SET value = value + 1 WHERE name = 'access_epoch';
END;

-- In the order of their ids, which is that of time.
DROP INDEX tokens_by_user;
CREATE INDEX tokens_by_user ON tokens (user, id);

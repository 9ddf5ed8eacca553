-- compatible from: 2
-- The UTC day of the last use, YYYY-MM-DD. Writing it changes nothing that is cached of the token.
ALTER TABLE tokens ADD COLUMN last_used_on text COLLATE "C";

DROP TRIGGER tokens_changed ON tokens;
CREATE TRIGGER tokens_changed AFTER UPDATE OF scopes, expires_at, revoked_at, replaced_by OR DELETE ON tokens
  FOR EACH STATEMENT EXECUTE FUNCTION access_changed();

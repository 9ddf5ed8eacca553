-- compatible from: 2
-- Only what is cached of a user changes the access epoch. Creates under a limit give users a new version (`TOUCH_USERS`):
-- all of them waited for the epoch in turn, and every second replicas looked up all tokens anew.
CREATE OR REPLACE TRIGGER users_changed AFTER UPDATE OF name, disabled_at, deleted_at ON users
  FOR EACH STATEMENT EXECUTE FUNCTION access_changed();

-- compatible from: 2
-- A deleted user has no name. Replicas of the version before write a space and the id instead, which no user can have
-- as a name; they never look for a deleted user by name, so they need not understand NULL.
ALTER TABLE users
  ALTER COLUMN name DROP NOT NULL,
  ADD CONSTRAINT users_named CHECK (name IS NOT NULL OR deleted_at IS NOT NULL);
UPDATE users SET name = NULL WHERE deleted_at IS NOT NULL;

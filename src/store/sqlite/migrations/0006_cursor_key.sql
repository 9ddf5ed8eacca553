-- What cursors are sealed with: 256 bits in hexadecimal. SQLite's generator is ChaCha20, whose seed the system gives.
CREATE TABLE cursor_key (
  secret    TEXT NOT NULL,
  -- Until when cursors were given out whose checksum was keyed by the `key` of `meta`, in milliseconds since the Unix
  -- epoch; 0 for never. That key still says which copies and backups are of the same store.
  old_until INTEGER NOT NULL
) STRICT;

INSERT INTO cursor_key
SELECT lower(hex(randomblob(32))), iif(EXISTS (SELECT 1 FROM users), CAST(unixepoch('subsec') * 1000 AS INTEGER), 0);

-- compatible from: 2
-- What cursors are sealed with: 256 bits in hexadecimal. Each identifier has 122 bits of the system's own generator.
CREATE TABLE cursor_key (
  secret    text NOT NULL,
  -- Until when cursors are given out whose checksum is keyed by the `key` of `meta`, in milliseconds since the Unix
  -- epoch; 0 for never. Replicas of the version before read no others, so that they have a day to go. That key still
  -- says which copies are of the same store.
  old_until bigint NOT NULL
);

INSERT INTO cursor_key (secret, old_until)
SELECT
  encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'),
  CASE WHEN EXISTS (SELECT 1 FROM users) THEN (extract(epoch FROM now()) * 1000)::bigint + 24 * 60 * 60 * 1000 ELSE 0 END;

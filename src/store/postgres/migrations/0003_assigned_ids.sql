-- compatible from: 1
-- The last id that the service assigned to a plant of the owner. No UPDATE of `users`: each one ends what is known of
-- all tokens.
CREATE TABLE assigned_ids (
  owner bigint NOT NULL PRIMARY KEY,
  last  bigint NOT NULL
) WITH (fillfactor = 70);

-- What commits from here on may be missed below.
SELECT set_config('plant_store.filled', (
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value
  FROM meta
  WHERE name = 'tx_offset'
)::text, true);

-- Before, an assigned id was one more than the highest. Every id that a plant has, or had as long as its event is kept,
-- may have been assigned; one above 2^52 would leave the counter too little room.
INSERT INTO assigned_ids (owner, last)
SELECT owner, max(id)
FROM (
  SELECT owner, id
  FROM plants
  WHERE id BETWEEN 1 AND 4503599627370496
  UNION ALL
  SELECT owner, plant
  FROM events
  WHERE type = 'plant.created' AND plant BETWEEN 1 AND 4503599627370496
) used
GROUP BY owner;

-- Replicas of the version before go on with one more than the highest. The highest that they added; counters go on above
-- it. A table of its own, because a counter is locked before plants are added, and this after.
CREATE TABLE ids_without_counter (
  owner bigint NOT NULL PRIMARY KEY,
  last  bigint NOT NULL
) WITH (fillfactor = 70);

-- With the rights of its owner: the role of those replicas may have been granted the tables before this only.
CREATE FUNCTION plants_added_without_counter() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO assigned_ids (owner, last)
  SELECT DISTINCT owner, 0
  FROM added
  ORDER BY owner
  ON CONFLICT DO NOTHING;
  INSERT INTO ids_without_counter (owner, last)
  SELECT owner, max(id)
  FROM added
  WHERE id BETWEEN 1 AND 4503599627370496
  GROUP BY owner
  ORDER BY owner
  ON CONFLICT (owner) DO UPDATE SET last = greatest(ids_without_counter.last, excluded.last);
  RETURN NULL;
END
$$;

CREATE TRIGGER plants_added_without_counter
AFTER INSERT ON plants
REFERENCING NEW TABLE AS added
FOR EACH STATEMENT
WHEN (current_setting('plant_store.counts', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION plants_added_without_counter();

-- From here on nobody writes plants. What was added while the ids above were collected:
INSERT INTO assigned_ids (owner, last)
SELECT u.id, e.last
FROM users u
CROSS JOIN LATERAL (
  SELECT max(plant) AS last
  FROM events
  WHERE owner = u.id
    AND type = 'plant.created'
    AND tx >= current_setting('plant_store.filled')::bigint
    AND plant BETWEEN 1 AND 4503599627370496
) e
WHERE e.last IS NOT NULL
ON CONFLICT (owner) DO UPDATE SET last = greatest(assigned_ids.last, excluded.last);

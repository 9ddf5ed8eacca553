-- The last id that the service assigned to a plant of the owner. No UPDATE of `users`: each one ends what is known of
-- all tokens.
CREATE TABLE assigned_ids (
  owner INTEGER NOT NULL PRIMARY KEY REFERENCES users (id),
  last  INTEGER NOT NULL
) STRICT;

-- Before, an assigned id was one more than the highest. Every id that a plant has, or had as long as its event is kept,
-- may have been assigned; one above 2^52 would leave the counter too little room.
INSERT INTO assigned_ids (owner, last)
SELECT owner, max(id)
FROM (
  SELECT users.id AS owner, (
    SELECT max(id)
    FROM plants
    WHERE owner = users.id AND id <= 4503599627370496
  ) AS id
  FROM users
  UNION ALL
  SELECT owner, max(plant)
  FROM events
  WHERE type = 'plant.created' AND plant <= 4503599627370496
  GROUP BY owner
)
WHERE id > 0
GROUP BY owner;

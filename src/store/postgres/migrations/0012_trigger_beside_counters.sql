-- compatible from: 2
-- As in 0003, but without waiting for a counter that exists: who advances it may wait for the plants added here.
CREATE OR REPLACE FUNCTION plants_added_without_counter() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO assigned_ids (owner, last)
  SELECT DISTINCT owner, 0
  FROM added a
  WHERE NOT EXISTS (SELECT 1 FROM assigned_ids i WHERE i.owner = a.owner)
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

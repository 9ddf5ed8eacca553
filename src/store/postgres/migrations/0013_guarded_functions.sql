-- compatible from: 2
-- Two functions run with the rights of their owner. PostgreSQL looks for their tables among the session's temporary ones
-- first, unless `pg_temp` is named later, so a caller's table with a trigger would give those rights to anybody.
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);

-- As in 0012, but only for plants: as a trigger of the caller's own table, it wrote what that table holds into the
-- counters, with the rights of their owner. A dump may be restored without privileges, so revoking them is not enough.
CREATE OR REPLACE FUNCTION plants_added_without_counter() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_RELID <> 'plants'::regclass THEN
    RETURN NULL;
  END IF;
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

-- As in 0009, but only for those who may add plants.
CREATE OR REPLACE FUNCTION fold_plants(names json) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE plants p
  SET folded = i.folded
  FROM json_to_recordset(names) AS i(owner int8, id int8, name text, folded text)
  WHERE p.owner = i.owner AND p.id = i.id AND p.name = i.name AND p.folded IS NULL
    AND has_table_privilege(session_user, 'plants', 'INSERT')
$$;

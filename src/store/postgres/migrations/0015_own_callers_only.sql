-- compatible from: 2
-- Anybody may execute a new function. Put as a trigger on a table of the caller's own, this one wrote what that table holds
-- into the counters, with the rights of their owner. A trigger that exists needs no right.
REVOKE EXECUTE ON FUNCTION plants_added_without_counter() FROM PUBLIC;

-- As in 0009, but only for those who may add plants. The path as in 0013.
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);
CREATE OR REPLACE FUNCTION fold_plants(names json) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE plants p
  SET folded = i.folded
  FROM json_to_recordset(names) AS i(owner int8, id int8, name text, folded text)
  WHERE p.owner = i.owner AND p.id = i.id AND p.name = i.name AND p.folded IS NULL
    AND has_table_privilege(session_user, 'plants', 'INSERT')
$$;

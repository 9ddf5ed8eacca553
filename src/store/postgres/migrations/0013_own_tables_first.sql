-- compatible from: 2
-- PostgreSQL looks for a table among the session's temporary ones first, unless `pg_temp` is named later. These functions
-- run with the rights of their owner, so a caller's table with a trigger would give those rights to anybody.
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);
ALTER FUNCTION fold_plants(json) SET search_path FROM CURRENT;
ALTER FUNCTION plants_added_without_counter() SET search_path FROM CURRENT;

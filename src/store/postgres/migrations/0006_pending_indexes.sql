-- compatible from: 2
-- Only what is not delivered is indexed, and by the moment of an event (`momentOf`) instead of its id: deliveries that
-- were made together share one entry.
CREATE INDEX IF NOT EXISTS deliveries_asked /* beside writes */ ON deliveries (subscriber, webhook, due, left(event, 13))
  WHERE asked AND state = 'pending';
CREATE INDEX IF NOT EXISTS deliveries_pending /* beside writes */ ON deliveries (subscriber, webhook, due, left(event, 13))
  WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS deliveries_undelivered /* beside writes */ ON deliveries (subscriber, webhook, state, left(event, 13))
  WHERE state <> 'delivered';

-- The first had what waits by the whole id, the second every delivery twice: as a pending one and as a delivered one.
DROP INDEX deliveries_due;
DROP INDEX deliveries_by_state;

-- Each outcome is another version of its row for the primary key. With this room the entries of a page share keys with
-- those before them; with less, each page is split and stays half empty.
DO $$
DECLARE
  key regclass;
BEGIN
  FOR key IN
    SELECT i.indexrelid
    FROM pg_index i
    JOIN pg_class t ON t.oid = i.indrelid AND t.relkind = 'r'
    WHERE i.indisprimary AND i.indrelid IN (
      SELECT 'deliveries'::regclass
      UNION ALL
      SELECT inhrelid FROM pg_inherits WHERE inhparent = 'deliveries'::regclass
    )
  LOOP
    EXECUTE format('ALTER INDEX %s SET (fillfactor = 80)', key);
  END LOOP;
END
$$;

-- compatible from: 2
-- While an index is made, nobody writes deliveries. On a large store make both before, with CREATE INDEX CONCURRENTLY.
CREATE INDEX IF NOT EXISTS deliveries_asked ON deliveries (subscriber, webhook, due, event)
  WHERE asked AND state = 'pending';
CREATE INDEX IF NOT EXISTS deliveries_undelivered ON deliveries (subscriber, webhook, state, event)
  WHERE state <> 'delivered';

-- It had every delivery twice: as a pending one, and as a delivered one.
DROP INDEX deliveries_by_state;

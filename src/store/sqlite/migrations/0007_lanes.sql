-- Deliveries are no longer leased: the service keeps in memory what it is sending. What a process that was killed had
-- leased is due.
UPDATE deliveries
SET due = min(due, CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE leased = 1;

DROP INDEX deliveries_leased;
ALTER TABLE deliveries DROP COLUMN leased;
-- Rises with each attempt that is recorded, and with each redelivery: an outcome of an older one changes nothing. Its
-- numbers go on where those of the claims ended.
ALTER TABLE deliveries RENAME COLUMN fence TO generation;
-- Whether a person asked for it: it goes before what waits.
ALTER TABLE deliveries ADD COLUMN asked INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1));
-- How often a process ended uncleanly that may have been sending it.
ALTER TABLE deliveries ADD COLUMN suspicions INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deliveries_asked ON deliveries (webhook, due) WHERE state = 'pending' AND asked = 1;

-- That which the delivery has since the attempt was recorded.
ALTER TABLE attempts RENAME COLUMN fence TO generation;

-- When a webhook is due is told by its deliveries.
DROP INDEX webhooks_due;
ALTER TABLE webhooks DROP COLUMN next_due;
ALTER TABLE webhooks DROP COLUMN claimed_at;
-- Rises when the URL is changed and when the webhook is enabled: what an older attempt says of the webhook is void.
ALTER TABLE webhooks ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

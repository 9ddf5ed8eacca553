-- compatible from: 2
-- Replicas that send. A replica that did not say in time that it lives has lost its lanes.
CREATE TABLE replicas (
  -- Of one life: a replica that came too late begins another.
  id          text COLLATE "C" NOT NULL PRIMARY KEY,
  -- By the database's clock, in milliseconds since the Unix epoch.
  alive_until bigint NOT NULL,
  -- False while it stops: it takes no lanes.
  dispatches  boolean NOT NULL
) WITH (fillfactor = 50);

-- Who sends what waits for a webhook. A webhook that never had anything to send has no row.
CREATE TABLE lanes (
  webhook    text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
  subscriber bigint NOT NULL,
  -- NULL when it was given back with nothing left to remember; '' when it was given back by a replica that stopped.
  replica    text COLLATE "C",
  -- Rises with each owner: what an earlier one writes is void.
  fence      bigint NOT NULL
) WITH (fillfactor = 70);

-- Rises when the webhook is sent to elsewhere, or enabled: what an older attempt says of it is void.
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS generation bigint NOT NULL DEFAULT 0;

-- `fence` is the generation of the delivery: it rises with each attempt that is recorded and with each redelivery, and
-- before, with each claim. `leased` is written by claims of the version before only; `due` is the end of the lease then.
ALTER TABLE deliveries
  -- Whether a person asked for it.
  ADD COLUMN IF NOT EXISTS asked boolean NOT NULL DEFAULT false,
  -- How often a process ended uncleanly that may have been sending it.
  ADD COLUMN IF NOT EXISTS suspicions integer NOT NULL DEFAULT 0;

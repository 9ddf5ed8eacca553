-- compatible from: 2
-- The events of a plant, whose deliveries a list may be asked for. Ids are assigned in order, so entries come at its end.
CREATE INDEX IF NOT EXISTS events_by_plant /* beside writes */ ON events (owner, plant, id) WHERE type = 'plant.created';

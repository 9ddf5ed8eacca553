-- The events of a plant, whose deliveries a list may be asked for. Ids are assigned in order, so entries come at its end.
CREATE INDEX events_by_plant ON events (owner, plant, id) WHERE type = 'plant.created';

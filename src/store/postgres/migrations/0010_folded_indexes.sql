-- compatible from: 2
-- Lists by name: a page costs the same however many plants there are.
CREATE INDEX IF NOT EXISTS plants_by_name /* beside writes */ ON plants (owner, folded, id) WHERE folded IS NOT NULL;
-- What is still to be filled.
CREATE INDEX IF NOT EXISTS plants_unfolded /* beside writes */ ON plants (owner, id) WHERE folded IS NULL;

-- The form of the name in which it is searched (`foldName`); NULL until a chore has filled it.
ALTER TABLE plants ADD COLUMN folded TEXT;

-- Lists by name: a page costs the same however many plants there are.
CREATE INDEX plants_by_name ON plants (owner, folded, id) WHERE folded IS NOT NULL;
-- What is still to be filled.
CREATE INDEX plants_unfolded ON plants (owner, id) WHERE folded IS NULL;

-- compatible from: 2
-- The form of the name in which it is searched (`foldName`); NULL until a chore has filled it. Replicas of the version
-- before leave it NULL, so it is filled as long as there is such a plant.
ALTER TABLE plants ADD COLUMN IF NOT EXISTS folded text COLLATE "C";

-- With the rights of its owner: the service's role needs no UPDATE on plants, whose members never change. A plant may
-- have been deleted meanwhile, and its id given to another.
CREATE OR REPLACE FUNCTION fold_plants(names json) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE plants p
  SET folded = i.folded
  FROM json_to_recordset(names) AS i(owner int8, id int8, name text, folded text)
  WHERE p.owner = i.owner AND p.id = i.id AND p.name = i.name AND p.folded IS NULL
$$;

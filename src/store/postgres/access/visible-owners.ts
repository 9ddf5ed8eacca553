import { toRecord } from '../../rows.ts';
import {
  type Bounds,
  type Owner,
  type Stretch,
  stretchesOf,
  type VisibleOwners as Visible,
  visibleCache,
} from '../../visible-owners.ts';
import { type Database, statement } from '../engine/database.ts';

export type VisibleOwners = ReturnType<typeof visibleOwners>;

const SHARING = statement`SELECT u.id, u.name
  FROM shares s
  JOIN users u ON u.id = s.owner
  WHERE s.viewer = $1`;

const NAMES = statement`SELECT id, name FROM users WHERE id = ANY($1::int8[]) AND deleted_at IS NULL`;

/** Looks up owners once for each viewer and access epoch, so a list without shares costs no extra statement. */
export function visibleOwners({ read }: Pick<Database, 'read'>, epoch: () => number) {
  const known = visibleCache(epoch);
  const visible = (viewer: number) => known.get(viewer) ?? lookUp(viewer);

  async function lookUp(viewer: number): Promise<Visible> {
    const keep = known.keeper();
    return keep(viewer, (await read(SHARING, [viewer])).map(toRecord<Owner>));
  }

  /** The names of the owners in these positions who no longer share. */
  async function strangers({ owners }: Visible, { from, through }: Bounds): Promise<Map<number, string>> {
    const ids = [from?.owner, through?.owner].filter(
      (id) => id !== undefined && !owners.some((o) => o.id === id),
    );
    if (ids.length === 0) return new Map();
    return new Map((await read(NAMES, [ids])).map(toRecord<Owner>).map(({ id, name }) => [id, name]));
  }

  return {
    /** The viewer, then those who share with them, by name. */
    of: async (viewer: number): Promise<readonly number[]> =>
      (await visible(viewer)).owners.map(({ id }) => id),
    async stretches(viewer: number, bounds: Bounds): Promise<readonly Stretch[]> {
      const list = await visible(viewer);
      const names = await strangers(list, bounds);
      return stretchesOf(list, bounds, (owner) => names.get(owner));
    },
  };
}

import { DatabaseSync } from 'node:sqlite';
import type { Check } from './check.ts';

export type Plant = { id: bigint; name: string; tag: string | undefined };

/** The data of `admin`, the only user of the store. */
export type Stored = {
  plants: Plant[];
  events: (Plant & { event: string })[];
  deliveries: { webhook: string; event: string; state: string }[];
};

/** Reads a SQLite file. The service must have ended. */
export function readFile(path: string): { stored: Stored; integrity: Check } {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = (sql: string) => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  };
  const stored = toStored({
    plants: rows(PLANTS),
    events: rows(EVENTS),
    deliveries: rows(DELIVERIES),
  });
  const [found] = db.prepare('PRAGMA integrity_check').all();
  db.close();
  const violations = found?.integrity_check === 'ok' ? [] : [JSON.stringify(found)];
  return { stored, integrity: { name: 'store passes integrity_check', count: 1, violations } };
}

/** The statements for both engines; ids as text where the client would round them. */
export const PLANTS = 'SELECT CAST(id AS text) AS id, name, tag FROM plants';
export const EVENTS = 'SELECT id AS event, CAST(plant AS text) AS id, name, tag FROM events';
export const DELIVERIES = 'SELECT webhook, event, state FROM deliveries';

type Row = Record<string, unknown>;

export function toStored({ plants, events, deliveries }: Record<keyof Stored, Row[]>): Stored {
  return {
    plants: plants.map(toPlant),
    events: events.map((row) => ({ ...toPlant(row), event: String(row.event) })),
    deliveries: deliveries.map(({ webhook, event, state }) => ({
      webhook: String(webhook),
      event: String(event),
      state: String(state),
    })),
  };
}

function toPlant(row: Row): Plant {
  return {
    id: BigInt(String(row.id)),
    name: String(row.name),
    tag: row.tag === null ? undefined : String(row.tag),
  };
}

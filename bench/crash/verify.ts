import { DatabaseSync } from 'node:sqlite';
import { type Ledger, plantJson } from './ledger.ts';
import type { ReceiverReport } from './receiver.ts';

/** Something that must hold after all kills. */
export type Check = { name: string; count: number; violations: string[] };

/** Compares what the clients and the receiver know with what the store holds. The service must have ended. */
export function verify(path: string, ledger: Ledger, receiver: ReceiverReport): Check[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const stored = readStored(db);
  const [integrity] = db.prepare('PRAGMA integrity_check').all();
  db.close();
  return [
    {
      name: 'store passes integrity_check',
      count: 1,
      violations: integrity?.integrity_check === 'ok' ? [] : [JSON.stringify(integrity)],
    },
    { name: 'answers as expected', count: ledger.entries.size, violations: ledger.violations },
    acknowledgedExist(stored, ledger),
    nothingDoubled(stored),
    nothingUnasked(stored, ledger),
    eventsArePlants(stored),
    everyEventDelivered(stored),
    everyEventReceived(stored, receiver),
  ];
}

type Plant = { id: bigint; name: string; tag: string | undefined };
type Stored = {
  plants: Plant[];
  events: (Plant & { event: string })[];
  deliveries: { event: string; state: string }[];
};

function readStored(db: DatabaseSync): Stored {
  const rows = (sql: string) => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  };
  const plantOf = (row: Record<string, unknown>): Plant => ({
    id: BigInt(String(row.id)),
    name: String(row.name),
    tag: row.tag === null ? undefined : String(row.tag),
  });
  return {
    plants: rows('SELECT id, name, tag FROM plants').map(plantOf),
    events: rows('SELECT id AS event, plant AS id, name, tag FROM events').map((row) => ({
      ...plantOf(row),
      event: String(row.event),
    })),
    deliveries: rows('SELECT event, state FROM deliveries').map(({ event, state }) => ({
      event: String(event),
      state: String(state),
    })),
  };
}

function acknowledgedExist({ plants }: Stored, { entries }: Ledger): Check {
  const byName = new Map(plants.map((plant) => [plant.name, plant]));
  const known = [...entries.values()].filter(({ state }) => state === 'acknowledged' || state === 'exists');
  const lost = known.filter((entry) => {
    const plant = byName.get(entry.name);
    return plant === undefined || plant.id !== entry.id || plant.tag !== entry.tag;
  });
  return {
    name: 'acknowledged plants are there',
    count: known.length,
    violations: lost.map(({ name, id }) => `lost or changed: ${name} (${id})`),
  };
}

function nothingDoubled({ plants }: Stored): Check {
  const doubled = [...Map.groupBy(plants, ({ name }) => name)].filter(([, same]) => same.length > 1);
  return {
    name: 'no plant is there twice',
    count: plants.length,
    violations: doubled.map(([name, same]) => `${name} is there ${same.length} times`),
  };
}

function nothingUnasked({ plants }: Stored, { entries }: Ledger): Check {
  const unasked = plants.filter(({ name }) => (entries.get(name)?.state ?? 'refused') === 'refused');
  return {
    name: 'plants that were refused, or never sent, are not there',
    count: plants.length,
    violations: unasked.map(({ name, id }) => `nobody created ${name} (${id})`),
  };
}

function eventsArePlants({ plants, events }: Stored): Check {
  const text = ({ id, name, tag }: Plant) => JSON.stringify([String(id), name, tag]);
  const left = new Set(plants.map(text));
  const extra = events.filter((event) => !left.delete(text(event)));
  return {
    name: 'each plant has one event, each event its plant',
    count: events.length,
    violations: [
      ...extra.map(({ event, name }) => `event ${event} has no plant ${name} of its own`),
      ...[...left].map((plant) => `plant ${plant} has no event`),
    ],
  };
}

function everyEventDelivered({ events, deliveries }: Stored): Check {
  const left = new Set(events.map(({ event }) => event));
  const wrong = deliveries.filter(({ event, state }) => !left.delete(event) || state !== 'delivered');
  return {
    name: 'each event has one delivery, which is delivered',
    count: deliveries.length,
    violations: [
      ...wrong.map(({ event, state }) => `the delivery of ${event} is ${state}`),
      ...[...left].map((event) => `${event} has no delivery`),
    ],
  };
}

function everyEventReceived({ events }: Stored, { receipts, counts }: ReceiverReport): Check {
  const known = new Set(events.map(({ event }) => event));
  const missing = events.filter(({ event, ...plant }) => {
    const receipt = receipts.get(event);
    return !receipt?.isSteady || receipt.body !== plantJson(plant);
  });
  const unknown = [...receipts.keys()].filter((event) => !known.has(event));
  return {
    name: 'the receiver got each event, signed, as it was created',
    count: receipts.size,
    violations: [
      ...missing.map(({ event, name }) => `${event} (${name}) was not received as it was created`),
      ...unknown.map((event) => `${event} was received and is not in the store`),
      ...(counts.badSignatures > 0 ? [`${counts.badSignatures} requests had no valid signature`] : []),
    ],
  };
}

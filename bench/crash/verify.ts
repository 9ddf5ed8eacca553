import type { Check } from './check.ts';
import { type Ledger, plantJson } from './ledger.ts';
import type { Mood, ReceiverReport } from './receiver.ts';
import type { Plant, Stored } from './stored.ts';

/** What the clients, the receivers and the killer of the service know. */
export type Known = {
  ledger: Ledger;
  report: ReceiverReport;
  /** By webhook id: its receiver. */
  webhooks: ReadonlyMap<string, Mood>;
  /** From each kill until the service listened again, in `monotonicMs`. */
  outages: readonly Outage[];
};

export type Outage = { from: number; to: number };

/** Compares this knowledge with the store. Nobody may write meanwhile. */
export function verify(stored: Stored, known: Known): Check[] {
  const { report } = known;
  return [
    ...verifyPlants(stored, known.ledger),
    everyEventDelivered(stored, known),
    everyEventReceived(stored, known),
    onlyTheirBodies(stored, report),
    repeatsAreExplained(known),
  ];
}

/** The part that needs no receivers. */
export function verifyPlants(stored: Stored, ledger: Ledger): Check[] {
  return [
    { name: 'answers as expected', count: ledger.entries.size, violations: ledger.violations },
    acknowledgedExist(stored, ledger),
    nothingDoubled(stored),
    nothingUnasked(stored, ledger),
    eventsArePlants(stored),
  ];
}

function acknowledgedExist({ plants }: Stored, { entries }: Ledger): Check {
  const byName = new Map(plants.map((plant) => [plant.name, plant]));
  const known = [...entries.values()].filter(({ state }) => state === 'acknowledged' || state === 'exists');
  const lost = known.filter((entry) => {
    const plant = byName.get(entry.name);
    return plant === undefined || plant.id !== entry.id || plant.tag !== entry.tag;
  });
  return {
    name: 'acknowledged plants exist',
    count: known.length,
    violations: lost.map(({ name, id }) => `lost or changed: ${name} (${id})`),
  };
}

function nothingDoubled({ plants }: Stored): Check {
  const doubled = [...Map.groupBy(plants, ({ name }) => name)].filter(([, same]) => same.length > 1);
  return {
    name: 'no plant exists twice',
    count: plants.length,
    violations: doubled.map(([name, same]) => `${name} is there ${same.length} times`),
  };
}

function nothingUnasked({ plants }: Stored, { entries }: Ledger): Check {
  const unasked = plants.filter(({ name }) => (entries.get(name)?.state ?? 'refused') === 'refused');
  return {
    name: 'plants that were refused or never sent do not exist',
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

function everyEventDelivered({ events, deliveries }: Stored, { webhooks }: Known): Check {
  const left = new Set([...webhooks.keys()].flatMap((id) => events.map(({ event }) => `${event} to ${id}`)));
  const wrong = deliveries.filter(
    ({ webhook, event, state }) => !left.delete(`${event} to ${webhook}`) || state !== 'delivered',
  );
  return {
    name: 'each event has one delivery for each webhook, and it succeeded',
    count: deliveries.length,
    violations: [
      ...wrong.map(({ webhook, event, state }) => `the delivery of ${event} to ${webhook} is ${state}`),
      ...[...left].map((which) => `${which} has no delivery`),
    ],
  };
}

function everyEventReceived({ events }: Stored, { webhooks, report }: Known): Check {
  const known = new Set(events.map(({ event }) => event));
  const violations: string[] = [];
  let count = 0;
  for (const mood of webhooks.values()) {
    const accepted = report.accepted.get(mood) ?? new Map<string, number>();
    count += accepted.size;
    for (const event of known) if (!accepted.has(event)) violations.push(`${mood} has not got ${event}`);
    for (const event of accepted.keys())
      if (!known.has(event)) violations.push(`${mood} got ${event}, which is not in the store`);
  }
  return { name: 'each receiver got each event, and no other', count, violations };
}

function onlyTheirBodies({ events }: Stored, { bodies, counts }: ReceiverReport): Check {
  const wrong = events.filter(({ event, ...plant }) => bodies.get(event) !== plantJson(plant));
  return {
    name: 'each request was signed, with the plant as it was created',
    count: counts.requests,
    violations: [
      ...wrong.map(({ event, name }) => `${event} (${name}) was not received as it was created`),
      ...(counts.badSignatures > 0 ? [`${counts.badSignatures} requests had no valid signature`] : []),
      ...(counts.changedBodies > 0 ? [`${counts.changedBodies} requests had another body than before`] : []),
    ],
  };
}

/** An accepted event may be repeated only if the service ended before it had recorded that. */
function repeatsAreExplained({ outages, report }: Known): Check {
  const unexplained = report.repeats.filter(
    ({ before, again }) => !outages.some(({ from, to }) => from <= again && before <= to),
  );
  return {
    name: 'accepted deliveries were repeated only after a kill',
    count: report.repeats.length,
    violations: unexplained.map(({ mood, event, before, again }) => {
      return `${mood} got ${event} again after ${(again - before).toFixed(0)} ms without a kill`;
    }),
  };
}

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '../../crash/clients.ts';
import { enter, type Ledger } from '../../crash/ledger.ts';

export type ClientsOptions = {
  /** The available replicas; each request goes to one of them at random. */
  urls: () => readonly string[];
  ledger: Ledger;
  clients: number;
  random: () => number;
  /** The longest pause of a client before its next request. */
  thinkMs: number;
  /** The share of creates with the client's id; half by default. */
  chosen?: number;
};

export type Clients = {
  /** Resolves when every client has its last answer. */
  stop(): Promise<void>;
};

/** After a broken connection, or without an available replica. */
const PAUSE_MS = 20;

/** Clients that create plants, half of them with ids, and retry unknown outcomes, until they are stopped. */
export function startClients(options: ClientsOptions): Clients {
  const agent = new Agent({ keepAlive: true });
  const { urls, ledger, clients, random, thinkMs, chosen = 0.5 } = options;
  let isOver = false;

  async function run(): Promise<void> {
    while (!isOver) {
      const url = oneOf(urls(), random);
      const isAnswered = url !== undefined && (await create(next(), { url, ledger, agent }));
      await sleep(isAnswered ? random() * thinkMs : PAUSE_MS);
    }
  }
  const next = () =>
    ledger.unknown.shift() ?? enter(ledger, { chosen: random() < chosen, tagged: random() < 0.8 });

  const running = Promise.all(Array.from({ length: clients }, run));
  return {
    async stop() {
      isOver = true;
      await running;
      agent.destroy();
    },
  };
}

const SETTLE_MS = 60_000;

/** Retries unknown outcomes until none is left. Throws when that takes too long. */
export async function settleUnknown({ urls, ledger, random }: ClientsOptions): Promise<void> {
  const start = performance.now();
  for (let entry = ledger.unknown.shift(); entry; entry = ledger.unknown.shift()) {
    const url = oneOf(urls(), random);
    if (url === undefined || !(await create(entry, { url, ledger })) || entry.state === 'unknown')
      await sleep(PAUSE_MS);
    if (performance.now() - start > SETTLE_MS)
      throw new Error(`${entry.name} is still unknown after a minute`);
  }
}

function oneOf<T>(all: readonly T[], random: () => number): T | undefined {
  return all[Math.floor(random() * all.length)];
}

/** How often each failure was returned, as a sentence; `lost` are broken connections. */
export function failuresOf({ failures }: Ledger): string {
  const parts = [...failures].toSorted().map(([code, times]) => `${times} × ${code}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask } from '../harness/client.ts';
import { type Entry, enter, type Ledger, plantJson } from './ledger.ts';

export type ClientsOptions = {
  url: string;
  ledger: Ledger;
  clients: number;
  random: () => number;
};

/** A client waits up to so long before its next request, so that events do not outrun their deliveries by far. */
const THINK_MS = 60;

/** Creates plants until the service is gone. Resolves when every client has noticed. */
export async function runClients(options: ClientsOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.clients });
  await Promise.all(Array.from({ length: options.clients }, () => runClient(options, agent)));
  agent.destroy();
}

/** Sends again what has an unknown outcome. Resolves when there is none left. */
export async function retryUnknown({ url, ledger }: ClientsOptions): Promise<void> {
  for (let entry = ledger.unknown.pop(); entry; entry = ledger.unknown.pop()) {
    if (!(await create(entry, { url, ledger })))
      throw new Error('The service ended while it was asked again');
  }
}

async function runClient({ url, ledger, random }: ClientsOptions, agent: Agent): Promise<void> {
  for (;;) {
    const entry = ledger.unknown.pop() ?? enter(ledger, { chosen: random() < 0.5, tagged: random() < 0.8 });
    if (!(await create(entry, { url, ledger, agent }))) return;
    await sleep(random() * THINK_MS);
  }
}

/** Sends one create and writes down what the client learns. False when the connection broke. */
async function create(
  entry: Entry,
  { url, ledger, agent }: { url: string; ledger: Ledger; agent?: Agent },
): Promise<boolean> {
  const isRetry = entry.state === 'unknown';
  const body = plantJson(entry);
  try {
    const answer = await ask(`${url}/plants`, { method: 'POST', body, ...(agent ? { agent } : {}) });
    settle(entry, answer, { isRetry, ledger });
    return true;
  } catch {
    entry.state = 'unknown';
    // Without an id a second try would be a second plant.
    if (entry.id !== undefined) ledger.unknown.push(entry);
    return false;
  }
}

function settle(
  entry: Entry,
  answer: Answer,
  { isRetry, ledger }: { isRetry: boolean; ledger: Ledger },
): void {
  if (answer.status === 201) {
    const id = BigInt(/\/plants\/(-?\d+)$/.exec(answer.headers.location ?? '')?.[1] ?? 0);
    if (entry.id !== undefined && entry.id !== id) {
      ledger.violations.push(`${entry.name} was sent as ${entry.id} and created as ${id}`);
    }
    entry.id = id;
    entry.state = 'acknowledged';
    if (isRetry) ledger.counts.retriedCreated++;
  } else if (answer.status === 409 && isRetry) {
    entry.state = 'exists';
    ledger.counts.retriedTaken++;
  } else {
    entry.state = 'refused';
    if (answer.status !== 503) ledger.violations.push(`${entry.name}: ${answer.status} ${answer.body}`);
  }
}

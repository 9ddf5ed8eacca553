import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask } from '../load/client.ts';
import { type Entry, enter, type Ledger, plantJson } from './ledger.ts';

export type ClientsOptions = {
  url: string;
  ledger: Ledger;
  clients: number;
  random: () => number;
};

/** The longest pause of a client before its next request, so that events do not far outrun their deliveries. */
const THINK_MS = 60;
/** A request without an answer after this time counts as hanging. */
const PATIENCE_MS = 60_000;

/** Creates plants until the service is gone. Resolves when every client has noticed. */
export async function runClients(options: ClientsOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.clients });
  await Promise.all(Array.from({ length: options.clients }, () => runClient(options, agent)));
  agent.destroy();
}

/** Retries creates with an unknown outcome. Resolves when there is none left. */
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

type Place = { url: string; ledger: Ledger; agent?: Agent };

/** Sends one create and records what the client learns. False when the connection broke. */
export async function create(entry: Entry, { url, ledger, agent }: Place): Promise<boolean> {
  const isRetry = entry.state === 'unknown';
  const body = plantJson(entry);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const answer = await ask(`${url}/plants`, { method: 'POST', body, signal, ...(agent ? { agent } : {}) });
    settle(entry, answer, { isRetry, ledger });
    return true;
  } catch {
    count(ledger, 'lost');
    if (signal.aborted) ledger.violations.push(`${entry.name}: no answer in ${PATIENCE_MS} ms`);
    leaveUnknown(entry, ledger);
    return false;
  }
}

function settle(entry: Entry, answer: Answer, { isRetry, ledger }: Circumstances): void {
  if (answer.status === 201) {
    acknowledge(entry, answer, { isRetry, ledger });
    return;
  }
  const code = Number(JSON.parse(answer.body).error);
  if (code === TAKEN && isRetry) {
    entry.state = 'exists';
    ledger.counts.retriedTaken++;
    return;
  }
  count(ledger, code);
  // An unknown outcome stays unknown when this attempt did nothing.
  if (code === OUTCOME_UNKNOWN || (isRetry && answer.status === 503)) leaveUnknown(entry, ledger);
  else entry.state = 'refused';
  if (answer.status !== 503) ledger.violations.push(`${entry.name}: ${answer.status} ${answer.body}`);
}

const TAKEN = 40900;
const OUTCOME_UNKNOWN = 50301;

type Circumstances = { isRetry: boolean; ledger: Ledger };

function acknowledge(entry: Entry, answer: Answer, { isRetry, ledger }: Circumstances): void {
  const id = BigInt(/\/plants\/(-?\d+)$/.exec(answer.headers.location ?? '')?.[1] ?? 0);
  if (entry.id !== undefined && entry.id !== id) {
    ledger.violations.push(`${entry.name} was sent as ${entry.id} and created as ${id}`);
  }
  entry.id = id;
  entry.state = 'acknowledged';
  if (isRetry) ledger.counts.retriedCreated++;
}

function leaveUnknown(entry: Entry, ledger: Ledger): void {
  entry.state = 'unknown';
  // Without an id, a retry would create a second plant.
  if (entry.id !== undefined) ledger.unknown.push(entry);
}

function count({ failures }: Ledger, code: number | 'lost'): void {
  failures.set(code, (failures.get(code) ?? 0) + 1);
}

import type { Outcome } from '../../testkit/processes/program.ts';
import { type ServeOptions, type Server, tryToServe } from '../../testkit/processes/server.ts';
import type { Check } from '../crash/check.ts';
import { create, retryUnknown } from '../crash/clients.ts';
import { createLedger, enter, type Ledger } from '../crash/ledger.ts';
import { type Receivers, startReceivers } from '../crash/receiver.ts';
import { readFile } from '../crash/stored.ts';
import { type Outage, verify } from '../crash/verify.ts';
import { askFor } from '../load/client.ts';
import { monotonicMs } from '../measure/clock.ts';
import { untilSettled } from '../measure/wait.ts';
import { startClients } from '../postgres/clients/clients.ts';
import { atEnd } from '../servers/cleanup.ts';
import { TOKEN } from '../servers/service.ts';
import { loopbackAllowed } from '../servers/webhooks.ts';
import { countDeliveries } from '../stores/backlog.ts';
import type { DiskFaults } from './disk-faults.ts';
import { checkList, keepListing } from './lists.ts';

/**
 * One store that goes through faults, its service, and what clients and a receiver know: the service runs under
 * `faults`, ends, and is restarted as often as needed; `settle` compares all answers with the store.
 */
export type Trial = {
  dataDir: string;
  ledger: Ledger;
  /** When deliveries may be repeated: while no service ran, and times that a program adds, such as that of a fault. */
  outages: Outage[];
  /** Starts the service; resolves with its end if it ends before it is ready. */
  start(options?: ServeOptions): Promise<Server | Outcome>;
  /** The same, but an end is a violation and throws. */
  mustStart(options?: ServeOptions): Promise<Server>;
  /** The running service. */
  running(): Server | undefined;
  /** One create, which the ledger records. Returns whether it got 201. */
  create(): Promise<boolean>;
  /** Restarts the running service. */
  restart(options?: ServeOptions): Promise<Server>;
  /** Creates and lists, across restarts of the service, until it is stopped. */
  load(clients: number): { stop(): Promise<void> };
  /** Acts as a client without an answer: retries. Then a list is compared with the ledger. */
  retry(): Promise<void>;
  /** The final conditions. Stops the service. */
  settle(): Promise<Check[]>;
  /** Ends all that runs. */
  close(): Promise<void>;
};

export type TrialOptions = { dataDir: string; random: () => number; faults?: DiskFaults | undefined };

/** As many as a schedule may have: no delivery may run out of attempts. */
const SCHEDULE = ['0s', ...Array.from({ length: 99 }, () => '200ms')].join();
const THINK_MS = 5;

/** Creates the store, with a webhook, by a service without faults. */
export async function openTrial({ dataDir, random, faults }: TrialOptions): Promise<Trial> {
  const ledger = createLedger();
  const receivers = await startReceivers(Math.floor(random() * 2 ** 31));
  const outages: Outage[] = [];
  let server: Server | undefined;
  let endedAt: number | undefined;
  const forget = atEnd(() => server?.signal('SIGKILL'));

  async function start({ env, through = [] }: ServeOptions = {}): Promise<Server | Outcome> {
    const common = { ...loopbackAllowed, BOOTSTRAP_TOKEN: TOKEN, WEBHOOK_RETRY_SCHEDULE: SCHEDULE };
    const preloaded = faults?.env(dataDir);
    const started = await tryToServe(dataDir, { env: { ...common, ...preloaded, ...env }, through });
    if (!('url' in started)) return started;
    if (endedAt !== undefined) outages.push({ from: endedAt, to: monotonicMs() });
    endedAt = undefined;
    server = started;
    void started.ended.then(() => {
      if (server === started) server = undefined;
      endedAt ??= monotonicMs();
    });
    return started;
  }

  async function mustStart(options?: ServeOptions): Promise<Server> {
    const started = await start(options);
    if ('url' in started) return started;
    ledger.violations.push(`does not start: ${started.stderr}`);
    throw new Error(`The service does not start: ${started.stderr}`);
  }

  const url = () => server?.url;
  const clients = { ledger, random, clients: 1 };
  const webhook = await subscribe(await mustStart(), receivers);
  return {
    dataDir,
    ledger,
    outages,
    start,
    mustStart,
    running: () => server,
    async create() {
      const at = url();
      if (at === undefined) return false;
      const entry = enter(ledger, { chosen: true, tagged: true });
      await create(entry, { url: at, ledger });
      return entry.state === 'acknowledged';
    },
    async restart(options) {
      await server?.stop();
      return mustStart(options);
    },
    load(count) {
      const urls = () => (server ? [server.url] : []);
      const creating = startClients({ ...clients, urls, clients: count, thinkMs: THINK_MS });
      const listing = keepListing(url, ledger);
      return { stop: async () => void (await Promise.all([creating.stop(), listing.stop()])) };
    },
    async retry() {
      const at = url() ?? (await mustStart()).url;
      await retryUnknown({ ...clients, url: at });
      if (!(await checkList(at, ledger))) ledger.violations.push('there is no list without a fault');
    },
    async settle() {
      const last = server ?? (await mustStart());
      await retryUnknown({ ...clients, url: last.url });
      await untilSettled(() => countDeliveries(dataDir, 'pending'));
      const { code, stderr } = await last.stop();
      if (code !== 0) ledger.violations.push(`SIGTERM ended the service with ${code}: ${stderr}`);
      const { stored, integrity } = readFile(`${dataDir}/plant-store.db`);
      const report = await receivers.report();
      const webhooks = new Map([[webhook, 'steady']] as const);
      return [integrity, ...verify(stored, { ledger, report, webhooks, outages })];
    },
    async close() {
      forget();
      await server?.kill();
      await receivers.stop();
    },
  };
}

async function subscribe({ url }: Server, receivers: Receivers): Promise<string> {
  const body = JSON.stringify({ url: receivers.url('steady') });
  const { id, secret } = JSON.parse((await askFor(`${url}/webhooks`, { method: 'POST', body })).body);
  receivers.trust('steady', secret);
  return id;
}

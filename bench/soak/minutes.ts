import { setTimeout as sleep } from 'node:timers/promises';
import { ask, askFor } from '../load/client.ts';
import { type OpenLoad, type OpenLoadResult, sendOpenLoad } from '../load/open-loop.ts';
import { pace, percentile } from '../load/pace.ts';
import { untilSettled } from '../measure/wait.ts';
import { startFastReceiver } from '../servers/fast-receiver.ts';
import { TOKEN } from '../servers/service.ts';
import { createWebhook } from '../servers/webhooks.ts';
import type { Subject } from './subject.ts';

/** `figures` are p99 in milliseconds, sizes in MiB, and counts. */
export type Minute = { figures: Record<string, number>; wrong: string[] };

export type Soak = {
  /** Of creates and of deletes; of lists it is twice as many. */
  perSecond: number;
  minute(number: number): Promise<Minute>;
  /** Waits for the last deliveries. Returns what is wrong. */
  end(): Promise<string[]>;
};

type Request = Pick<OpenLoad, 'method' | 'path' | 'body'>;

const CREATE: Request = {
  method: 'POST',
  path: '/plants',
  body: '{"name":"Black alder","tag":"Alnus glutinosa"}',
};
const LIST: Request = { method: 'GET', path: '/plants?limit=20' };
/** The share of its core that the service takes. */
const LOAD = 0.5;
const FIRST = { perSecond: 500, seconds: 10 };
const TRIAL = { perSecond: 500, seconds: 20 };
/** So few that none is idle long enough for the service to close it while a request is on its way. */
const CONNECTIONS = 4;
const BACKUP_EVERY_MINUTES = 5;
/** The share of requests that may meet a connection that the service closes because it was idle. */
const UNANSWERED = 1 / 10_000;
/** How much of the past a replay sends again, each minute. */
const REPLAYED_MS = 3_000;

/** Plants get the ids 1, 2, 3, …: each delete is of the oldest one. */
export async function startSoak(subject: Subject): Promise<Soak> {
  const { service } = subject;
  const receiver = await startFastReceiver();
  const webhook = await createWebhook(service, `${receiver.url}/`);
  let [created, deleted] = [0, 0];

  async function creates(perSecond: number, seconds: number): Promise<OpenLoadResult> {
    const sent = await open(service.url, CREATE, perSecond, seconds);
    created += sent.statuses[201] ?? 0;
    return sent;
  }
  async function deletes(perSecond: number, seconds: number) {
    const wrong: string[] = [];
    const paced = pace(perSecond, async () => {
      const { status } = await ask(`${service.url}/plants/${++deleted}`, { method: 'DELETE' });
      if (status !== 204) wrong.push(`a delete was answered ${status}`);
    });
    await sleep(seconds * 1000);
    return { times: await paced.end(), wrong };
  }
  const mixed = (perSecond: number, seconds: number) =>
    Promise.all([
      creates(perSecond, seconds),
      open(service.url, LIST, 2 * perSecond, seconds),
      deletes(perSecond, seconds),
    ]);

  await creates(FIRST.perSecond, FIRST.seconds);
  const used = subject.cpuSeconds();
  await mixed(TRIAL.perSecond, TRIAL.seconds);
  const perSecond = Math.floor((LOAD * TRIAL.perSecond * TRIAL.seconds) / (subject.cpuSeconds() - used));

  return {
    perSecond,
    async minute(number) {
      const beside = asBeside(async () => {
        const since = new Date(Date.now() - REPLAYED_MS).toISOString();
        const url = `${service.url}/webhooks/${webhook.id}/replay`;
        await askFor(url, { method: 'POST', body: JSON.stringify({ since }) });
        if (number % BACKUP_EVERY_MINUTES === 0) await subject.backUp();
      });
      const [create, list, { times, wrong }] = await mixed(perSecond, 60);
      wrong.push(...wrongOf('a create', create), ...wrongOf('a list', list), ...(await beside));
      const figures = {
        'p99 of creates ms': create.goodSinceDue.p99,
        'p99 of lists ms': list.goodSinceDue.p99,
        'p99 of deletes ms': percentile(times, 99),
        ...(await subject.sizes()),
      };
      return { figures, wrong };
    },
    async end() {
      const left = await untilSettled(async () => created - (await receiver.tally()).requests);
      await receiver.stop();
      return left > 0 ? [`${left} of ${created} plants were not delivered`] : [];
    },
  };
}

async function asBeside(work: () => Promise<void>): Promise<string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [String(error)];
  }
}

function open(url: string, request: Request, perSecond: number, seconds: number) {
  return sendOpenLoad(url, {
    ...{ token: TOKEN, connections: CONNECTIONS, mostConnections: 4 * CONNECTIONS, perSecond, seconds },
    ...request,
  });
}

function wrongOf(what: string, { statuses, sent, unsent, broken }: OpenLoadResult): string[] {
  const refused = Object.keys(statuses).filter((status) => !status.startsWith('2'));
  const unanswered = unsent + broken;
  return [
    ...refused.map((status) => `${what} was answered ${status}`),
    ...(unanswered > UNANSWERED * sent ? [`${unanswered} times ${what} was not answered`] : []),
  ];
}

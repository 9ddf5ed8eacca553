import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../../testkit/random/seeded.ts';
import { type BreakingProxy, startBreakingProxy } from '../../load/breaking-proxy.ts';
import { countOf, isReplay, putInTheWay, violationsOf } from '../../load/keyed-checks.ts';
import { type KeyedCreate, keyedCreate, sendUntilAnswered } from '../../load/keyed-creates.ts';
import type { Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { startService } from '../../servers/service.ts';

/** The same faults in each run; which requests they hit depends on the machine. */
const SEED = 4;
const CLIENTS = 16;
/** The longest a service lives before it is killed. */
const LIFE_MS = 900;
/** How many problems the report shows, and how many characters of each. */
const SHOWN = 10;
const SHOWN_LENGTH = 200;

/**
 * Creates that are retried under one Idempotency-Key, because their connections break or the service is killed: each
 * takes effect once, and every answer that arrives is the same.
 */
export async function retries(bench: Bench): Promise<Report> {
  const [many, some, kills] = bench.quick ? [1_000, 100, 3] : [10_000, 1_000, 20];
  const single = await throughCuts(bench, { name: 'retries-single', count: 1, tries: many });
  const ten = await throughCuts(bench, { name: 'retries-ten', count: some, tries: 10 });
  const until = await throughCuts(bench, { name: 'retries-until', count: many, tries: 1 });
  const killed = await throughKills(bench, kills);
  const exactlyOne = 'violations of one plant, one event, one answer';
  const wrong = ({ violations }: Outcome) => ({
    unit: '',
    values: [violations.length],
    target: { atMost: 0 },
  });
  return {
    figures: [
      { name: `1 key, sent ${many} times, answers cut at random: plants`, unit: '', values: [single.plants] },
      { name: 'the same: events', unit: '', values: [single.events] },
      { name: `the same: ${exactlyOne}`, ...wrong(single) },
      { name: `${some} keys, each sent 10 times: the same`, ...wrong(ten) },
      { name: `${many} keys, each sent until an answer is complete: the same`, ...wrong(until) },
      { name: `${killed.creates} keys, the service killed ${kills} times: the same`, ...wrong(killed) },
    ],
    notes: [single, ten, until, killed].flatMap(({ note, violations }) => [
      `retries: ${note}`,
      ...violations.slice(0, SHOWN).map((violation) => violation.slice(0, SHOWN_LENGTH)),
    ]),
  };
}

type Outcome = { creates: number; plants: number; events: number; violations: string[]; note: string };

/** This many creates, each sent at least this often, through a network that breaks most connections. */
async function throughCuts(
  bench: Bench,
  { name, count, tries }: { name: string; count: number; tries: number },
): Promise<Outcome> {
  const random = seededRandom(SEED);
  const service = await startEmpty(bench, name);
  const proxy = await startBreakingProxy(Number(new URL(service.url).port), random);
  const creates = Array.from({ length: count }, (_, i) => keyedCreate(i + 1));
  // For a single create, each client sends its share.
  const shares = count === 1 ? Array.from({ length: CLIENTS }, () => creates).flat() : creates;
  await sendUntilAnswered(proxy.url, shares, { clients: CLIENTS, random, tries });
  await proxy.stop();
  const outcome = await settle(service, creates);
  return { ...outcome, note: `${outcome.note}; of the connections ${asText(proxy)}` };
}

/** Creates continue while the service is killed and restarted, on the same port and store. Nothing else breaks. */
async function throughKills(bench: Bench, kills: number): Promise<Outcome> {
  const random = seededRandom(SEED);
  let service = await startEmpty(bench, 'retries-kills');
  const { url } = service;
  const creates: KeyedCreate[] = [];
  let isOver = false;
  function* untilOver(): Generator<KeyedCreate> {
    while (!isOver) {
      const create = keyedCreate(creates.length + 1);
      creates.push(create);
      yield create;
    }
  }
  const sending = sendUntilAnswered(url, untilOver(), { clients: CLIENTS, random, tries: 1 });
  const killing = async () => {
    for (let i = 0; i < kills; i++) {
      await sleep(random() * LIFE_MS);
      await service.kill();
      service = await startIn(bench, 'retries-kills', { PORT: new URL(url).port });
    }
    isOver = true;
  };
  await Promise.all([sending, killing()]);
  const outcome = await settle(service, creates);
  const unheard = creates.filter(({ answers }) => answers.every(isReplay)).length;
  return {
    ...outcome,
    note: `${outcome.note}; ${unheard} took effect before a kill that lost their answer`,
  };
}

/** Checks everything, and stops the service. */
async function settle(service: Server, creates: KeyedCreate[]): Promise<Outcome> {
  const { violations, found } = await violationsOf(service.url, creates);
  await service.stop();
  const [plants, events] = [countOf(creates, found.plants), countOf(creates, found.events)];
  const note = `${noteOf(creates)}, ${plants} plants and ${events} events`;
  return { creates: creates.length, plants, events, violations, note };
}

function noteOf(creates: KeyedCreate[]): string {
  const sum = (figure: (create: KeyedCreate) => number) => creates.reduce((all, one) => all + figure(one), 0);
  const whole = sum(({ answers }) => answers.length);
  const replayed = sum(({ answers }) => answers.filter(isReplay).length);
  const refused = sum(({ kind }) => (kind === 'taken' ? 1 : 0));
  return [
    `${creates.length} creates (${refused} of an id that is taken), ${sum(({ tries }) => tries)} requests`,
    `${whole} whole answers, ${replayed} of them replayed`,
    `${sum(({ postponed }) => postponed)} told to come again`,
  ].join(', ');
}

function asText({ counts }: BreakingProxy): string {
  const { door, request, sent, answer, whole } = counts;
  return [
    `${door} were reset at the door, ${request} cut in the request, ${sent} behind it`,
    `${answer} in the answer, and ${whole} left alone`,
  ].join(', ');
}

async function startEmpty(bench: Bench, name: string): Promise<Server> {
  mkdirSync(join(bench.folder, name));
  const service = await startIn(bench, name, {});
  await putInTheWay(service.url);
  return service;
}

function startIn(bench: Bench, name: string, env: Record<string, string>): Promise<Server> {
  return startService({ dataDir: join(bench.folder, name), env });
}

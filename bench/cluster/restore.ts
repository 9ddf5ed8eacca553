import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask, askFor } from '../load/client.ts';
import { untilSettled } from '../measure/wait.ts';
import { queryOnce } from '../postgres/servers/servers.ts';
import { startReceiver } from '../servers/receiver.ts';
import { type Cluster, ownerOf, until } from './cluster.ts';
import { addresses, killAll, type Machine, on, signal } from './network.ts';
import { DATABASES, PORTS, REPLICAS, SERVICE, share } from './servers.ts';

/** `--restore`: takes the cluster back to a moment as `docs/how-to/high-availability.md` describes it. */

const PLANTS = 50;
/** More than the `ttl` of Patroni, after which nobody leads the cluster. */
const LEADERLESS_MS = 25_000;
const [FIRST, ...OTHERS] = DATABASES;

/** Returns what users and receivers find that the docs do not promise, a sentence each. */
export async function restoreCluster(cluster: Cluster, folder: string): Promise<string[]> {
  const [archive, base] = [join(folder, 'archive'), join(folder, 'base')];
  mkdirSync(archive);
  share(archive, ownerOf('postgres'));
  await startArchiving(archive);
  await cluster.untilWhole();
  const settings = settingsIn(folder);
  backUp(base, settings.postgresql.authentication.replication);

  // Names of plants by `webhook-id`. Nothing is accepted before the restore.
  const sent = new Map<string, string>();
  let status = 503;
  const receiver = await startReceiver(({ event, body, response }) => {
    sent.set(event, JSON.parse(body).name);
    response.writeHead(status).end();
  }, addresses.clients);
  const url = cluster.urls[0] ?? '';
  await post(`${url}/webhooks`, { url: receiver.url });
  const { id, token } = await post(`${url}/tokens`, { scopes: ['plants:read'] });
  for (let n = 0; n < PLANTS; n++) await post(`${url}/plants`, { name: `kept ${n}` });
  await until('a delivery', async () => sent.size > 0);
  const moment = String((await queryOnce(cluster.adminUrl, 'SELECT now()::text AS now'))[0]?.now);
  await sleep(1_000);
  for (let n = 0; n < PLANTS; n++) await post(`${url}/plants`, { name: `lost ${n}` });
  await askFor(`${url}/tokens/${id}`, { method: 'DELETE' });
  const { cursor } = await readFeed(url);
  await untilArchived(cluster.adminUrl, archive);

  await stopAll(cluster);
  await startFrom(cluster, folder, restoring(settings, { archive, base, moment }));
  await moveFeed(cluster);
  const waited = [...sent].flatMap(([webhookId, name]) => (name.startsWith('kept') ? [webhookId] : []));
  sent.clear();
  status = 204;
  for (const replica of REPLICAS) cluster.kept.get(replica)?.at(-1)?.release();
  await cluster.untilWhole();
  await post(`${url}/plants`, { name: 'new' });

  const kept = Array.from({ length: PLANTS }, (_, n) => `kept ${n}`);
  const isExpected = (names: Iterable<string>) => [...names].sort().join() === [...kept, 'new'].sort().join();
  const plants: { name: string }[] = JSON.parse((await askFor(`${url}/plants`)).body);
  await until('an event for the follower', async () => (await readFeed(url, cursor)).names.length > 0);
  await untilSettled(() => PLANTS + 1 - sent.size);
  const findings = {
    'the plants of that moment are there, and no others': isExpected(plants.map(({ name }) => name)),
    'a token that was revoked later is valid again': (await ask(`${url}/plants`, { token })).status === 200,
    'a follower from after that moment reads what is new':
      (await readFeed(url, cursor)).names.join() === 'new',
    'deliveries that were waiting are sent, and nothing else': isExpected(sent.values()),
    'they have the ids that the receiver knows': waited.every((webhookId) => sent.has(webhookId)),
  };
  return Object.entries(findings).flatMap(([sentence, holds]) => (holds ? [] : [`not so: ${sentence}`]));
}

async function post(url: string, body: object) {
  return JSON.parse((await askFor(url, { method: 'POST', body: JSON.stringify(body) })).body);
}

/** As by `patronictl edit-config` and `patronictl restart`. */
async function startArchiving(archive: string): Promise<void> {
  const parameters = {
    archive_mode: 'on',
    archive_command: `cmp -s %p ${archive}/%f || (test ! -f ${archive}/%f && cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f)`,
  };
  const at = (machine: Machine) => `http://${addresses[machine]}:${PORTS.patroni}`;
  await askFor(`${at(FIRST)}/config`, {
    method: 'PATCH',
    body: JSON.stringify({ postgresql: { parameters } }),
  });
  for (const database of DATABASES) {
    await until(`${database} has the settings`, async () =>
      (await ask(`${at(database)}/patroni`)).body.includes('pending_restart'),
    );
    await askFor(`${at(database)}/restart`, { method: 'POST', body: '{}' });
  }
}

function backUp(base: string, { username, password }: { username: string; password: string }): void {
  const from = ['--host', '127.0.0.1', '--username', username, '--pgdata', base];
  const [file = '', ...args] = on('app1', ['pg_basebackup', ...from, '--checkpoint=fast']);
  execFileSync(file, args, { env: { ...process.env, PGPASSWORD: password } });
  const { uid, gid } = ownerOf('postgres');
  execFileSync('chown', ['-R', `${uid}:${gid}`, base]);
}

async function untilArchived(url: string, archive: string): Promise<void> {
  const [row] = await queryOnce(url, 'SELECT pg_walfile_name(pg_switch_wal()) AS name');
  await until('the log is archived', async () => existsSync(join(archive, String(row?.name))));
}

async function stopAll({ kept }: Cluster): Promise<void> {
  for (const replica of REPLICAS) {
    kept.get(replica)?.at(-1)?.hold();
    signal(replica, 'SIGTERM', SERVICE);
  }
  for (const database of DATABASES) {
    for (const program of kept.get(database) ?? []) program.hold();
    killAll(database);
  }
  await sleep(LEADERLESS_MS);
}

/** Those of the first server. */
function settingsIn(folder: string) {
  return JSON.parse(readFileSync(join(folder, FIRST, 'patroni.yaml'), 'utf8'));
}

type Archive = { archive: string; base: string; moment: string };

/** Settings of Patroni, with which it starts a cluster from an archive. */
function restoring(settings: ReturnType<typeof settingsIn>, { archive, base, moment }: Archive): string {
  const restore = {
    command: `cp -a ${base} ${settings.postgresql.data_dir}`,
    no_params: true,
    recovery_conf: {
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_time: moment,
      recovery_target_action: 'promote',
      recovery_target_timeline: 'latest',
    },
  };
  return JSON.stringify({ ...settings, bootstrap: { ...settings.bootstrap, method: 'restore', restore } });
}

/** Forgets the cluster, and starts it again from the first server; the others copy that. */
async function startFrom({ kept, primary }: Cluster, folder: string, settings: string): Promise<void> {
  const file = join(folder, FIRST, 'patroni.yaml');
  writeFileSync(file, settings);
  const [program = '', ...args] = on(FIRST, ['patronictl', '-c', file, 'remove', 'plant-store']);
  execFileSync(program, args, { input: 'plant-store\nYes I am aware\n' });
  for (const database of DATABASES)
    renameSync(join(folder, database, 'data'), join(folder, database, 'data-aside'));
  for (const one of kept.get(FIRST) ?? []) one.release();
  await until('a primary', primary);
  for (const database of OTHERS) for (const one of kept.get(database) ?? []) one.release();
}

/** After any restore: followers may have a position after that moment. */
async function moveFeed({ program, databaseUrl }: Cluster): Promise<void> {
  const env = { ...process.env, DATABASE_URL: databaseUrl };
  // Not `execFileSync`: the first commit waits for a standby, which this process starts.
  const migrate = () => promisify(execFile)(process.execPath, [program, 'migrate'], { env });
  await until('the schema is current', migrate);
  await queryOnce(databaseUrl, `UPDATE meta SET value = value + 1000000000 WHERE name = 'tx_offset'`);
}

/** The plants' names of the events after a cursor, and the cursor at the end. */
async function readFeed(url: string, from?: string): Promise<{ names: string[]; cursor: string }> {
  const names: string[] = [];
  for (let cursor = from; ; ) {
    const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = JSON.parse((await askFor(`${url}/events?limit=100${query}`)).body);
    cursor = String(page.cursor);
    if (page.events.length === 0) return { names, cursor };
    for (const { plant } of page.events) names.push(plant.name);
  }
}

import { execFile, execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask, askFor } from '../load/client.ts';
import { untilSettled } from '../measure/wait.ts';
import { queryOnce } from '../postgres/servers/servers.ts';
import { type Cluster, ownerOf, until } from './cluster.ts';
import { addresses, killAll, type Machine, on, signal } from './network.ts';
import { DATABASES, type Owner, PORTS, REPLICAS, SERVICE } from './servers.ts';

/** `--restore`: takes the cluster back to a moment as `docs/how-to/high-availability.md` describes it. */

const PLANTS = 50;
/** More than the `ttl` of Patroni, after which nobody leads the cluster. */
const LEADERLESS_MS = 25_000;
const [FIRST, ...OTHERS] = DATABASES;

/** Returns what users and receivers find that the docs do not promise, a sentence each. */
export async function restoreCluster(cluster: Cluster, folder: string): Promise<string[]> {
  const [archive, base] = [join(folder, 'archive'), join(folder, 'base')];
  const owner = ownerOf('postgres');
  mkdirSync(archive);
  chownSync(archive, owner.uid, owner.gid);
  await startArchiving(archive);
  await cluster.untilWhole();
  backUp(base, owner);

  const receiver = await startReceiver();
  const url = cluster.urls[0] ?? '';
  const post = async (path: string, body: object) =>
    JSON.parse((await askFor(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).body);
  await post('/webhooks', { url: receiver.url });
  const { id, token } = await post('/tokens', { scopes: ['plants:read'] });
  for (let n = 0; n < PLANTS; n++) await post('/plants', { name: `kept ${n}` });
  await until('a delivery', async () => receiver.seen.size > 0);
  const moment = String((await queryOnce(cluster.adminUrl, 'SELECT now()::text AS now'))[0]?.now);
  await sleep(1_000);
  for (let n = 0; n < PLANTS; n++) await post('/plants', { name: `lost ${n}` });
  await askFor(`${url}/tokens/${id}`, { method: 'DELETE' });
  const { cursor } = await readFeed(url);
  await untilArchived(cluster.adminUrl, archive);

  await stopAll(cluster);
  const settings = restoring(folder, { archive, base, moment });
  await startFrom(cluster, folder, settings);
  const env = { ...process.env, DATABASE_URL: cluster.databaseUrl };
  // Not `execFileSync`: the first commit waits for a standby, which this process starts.
  const migrate = () => promisify(execFile)(process.execPath, [cluster.program, 'migrate'], { env });
  await until('the schema is current', migrate);
  await queryOnce(cluster.databaseUrl, `UPDATE meta SET value = value + 1000000000 WHERE name = 'tx_offset'`);
  const before = [...receiver.seen]
    .filter(([, name]) => name.startsWith('kept'))
    .map(([webhookId]) => webhookId);
  receiver.seen.clear();
  receiver.accept();
  for (const replica of REPLICAS) cluster.kept.get(replica)?.at(-1)?.release();
  await cluster.untilWhole();

  await post('/plants', { name: 'new' });
  const read = async () => (await readFeed(url, cursor)).names;
  await until('an event for the follower', async () => (await read()).length > 0);
  const names = JSON.parse((await askFor(`${url}/plants`)).body).map(({ name }: { name: string }) => name);
  await untilSettled(() => PLANTS + 1 - receiver.seen.size);
  const sent = [...receiver.seen.values()];
  const findings = {
    'the plants of that moment are there, and no others':
      names.length === PLANTS + 1 && !names.some((name: string) => name.startsWith('lost')),
    'a token that was revoked later is valid again': (await ask(`${url}/plants`, { token })).status === 200,
    'a follower from after that moment reads what is new': (await read()).join() === 'new',
    'deliveries that were waiting are sent, with the ids that the receiver knows': before.every((webhookId) =>
      receiver.seen.has(webhookId),
    ),
    'nothing else is sent': sent.length === PLANTS + 1 && !sent.some((name) => name.startsWith('lost')),
  };
  return Object.entries(findings).flatMap(([sentence, holds]) => (holds ? [] : [`not so: ${sentence}`]));
}

/** As by `patronictl edit-config` and `patronictl restart`. */
async function startArchiving(archive: string): Promise<void> {
  const parameters = {
    archive_mode: 'on',
    archive_command: `cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f`,
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

function backUp(base: string, { uid, gid }: Owner): void {
  const from = ['--host', '127.0.0.1', '--username', 'replicator', '--pgdata', base];
  const [file = '', ...args] = on('app1', ['pg_basebackup', ...from, '--checkpoint=fast']);
  execFileSync(file, args, { env: { ...process.env, PGPASSWORD: 'change-me-2' } });
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

/** The settings of the first server, with a way to start a cluster that restores. */
function restoring(folder: string, from: { archive: string; base: string; moment: string }): string {
  const settings = JSON.parse(readFileSync(join(folder, FIRST, 'patroni.yaml'), 'utf8'));
  settings.bootstrap.method = 'restore';
  settings.bootstrap.restore = {
    command: `cp -a ${from.base} ${settings.postgresql.data_dir}`,
    no_params: true,
    recovery_conf: {
      restore_command: `cp ${from.archive}/%f %p`,
      recovery_target_time: from.moment,
      recovery_target_action: 'promote',
      recovery_target_timeline: 'latest',
    },
  };
  return JSON.stringify(settings);
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

/** Refuses all deliveries until `accept`. `seen` has the plants' names by `webhook-id`. */
async function startReceiver(): Promise<{ url: string; seen: Map<string, string>; accept(): void }> {
  const seen = new Map<string, string>();
  let status = 503;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    seen.set(String(request.headers['webhook-id']), JSON.parse(Buffer.concat(parts).toString()).name);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(3_100, '0.0.0.0', resolve));
  return {
    url: `http://${addresses.clients}:3100/`,
    seen,
    accept() {
      status = 204;
    },
  };
}

import { join } from 'node:path';
import { readFile, type Stored } from '../crash/stored.ts';
import { type IdModel, idChecks, idNotes, playIds } from '../load/id-model.ts';
import { temporaryFolder } from '../servers/cleanup.ts';
import { startService } from '../servers/service.ts';
import { readDatabase } from './clients/stored.ts';
import type { Findings, Plan } from './findings.ts';
import { startReplica } from './replica.ts';
import { makeServer, NO_FSYNC } from './servers/servers.ts';

const CLIENTS = 16;
const REPLICAS = 3;

/**
 * Creates, deletes and lost answers, against a model: on three replicas of one PostgreSQL store and, with as many
 * requests again, on an embedded store. A round is a request.
 */
export async function ids(plan: Plan): Promise<Findings> {
  const parts = [await onReplicas(plan), await onEmbedded(plan)];
  return { checks: parts.flatMap(({ checks }) => checks), notes: parts.flatMap(({ notes }) => notes) };
}

async function onReplicas({ rounds, random }: Plan): Promise<Findings> {
  const server = await makeServer();
  await server.start(NO_FSYNC);
  await server.query('CREATE DATABASE ids');
  const url = server.url('ids');
  // One after the other: the first one creates the store.
  const replicas = [];
  for (let n = 0; n < REPLICAS; n++) replicas.push(await startReplica(url));
  const urls = replicas.map((replica) => replica.url);
  const model = await playIds({ urls, clients: CLIENTS, requests: rounds, random });
  await Promise.all(replicas.map((replica) => replica.stop()));
  const stored = await readDatabase(url);
  await server.stop();
  return findingsOf('three replicas', stored, model);
}

async function onEmbedded({ rounds, random }: Plan): Promise<Findings> {
  const folder = temporaryFolder().path;
  const service = await startService({ dataDir: folder, core: undefined });
  const model = await playIds({ urls: [service.url], clients: CLIENTS, requests: rounds, random });
  await service.stop();
  return findingsOf('embedded', readFile(join(folder, 'plant-store.db')).stored, model);
}

function findingsOf(where: string, stored: Stored, model: IdModel): Findings {
  return {
    checks: idChecks(stored, model).map((check) => ({ ...check, name: `${where}: ${check.name}` })),
    notes: [`${where}: ${idNotes(model, stored)}`],
  };
}

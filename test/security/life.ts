import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Server } from '../../testkit/processes/server.ts';
import { mistyped } from './callers.ts';
import type { Canary } from './canaries.ts';
import { servedOperations } from './operations.ts';
import { placesOf, unreadable } from './places.ts';
import { createRecorder, type Recorded, type Recorder } from './recorder.ts';
import { type Stage, setUp } from './stage.ts';
import { type GivenSecret, useEverything } from './usage.ts';

/** Everything that a service emitted while it handled many secrets. */
export type Life = {
  opaqueTokens: Canary[];
  /** JWTs and their contents. */
  jwts: Canary[];
  /** Secrets of webhooks. */
  secrets: GivenSecret[];
  privateKeys: Canary[];
  /** What a user stored. It is shown to them, but must not be in a log. */
  contents: Canary[];
  answers: Recorded[];
  /** The log (standard output), standard error, the metrics, and the output of the command line. */
  said: string[];
  /** What receivers got. */
  received: string[];
  commandLines: string[];
  /** The files of the data folder, each byte as a character. */
  files: string[];
};

/** Runs it all, in two processes one after another. They end with the test. */
export async function live(t: TestContext): Promise<Life> {
  const stage = await setUp(t);
  const life: Life = {
    opaqueTokens: stage.opaque,
    jwts: stage.jwts,
    secrets: [],
    privateKeys: [],
    contents: Object.entries(stage.contents).map(([name, text]) => ({ name, text })),
    answers: [],
    said: [],
    received: [],
    commandLines: [],
    files: [],
  };
  await inService(stage, life, { AUTH_FAILURE_LIMIT: '0' }, async (recorder, { url }) => {
    life.secrets = await useEverything({ ...stage, recorder, url });
    await showEverywhere(stage, recorder, url);
    life.privateKeys = stage.place
      .read('SELECT private_key AS key FROM webhooks')
      .map(({ key }) => ({ name: 'a private key', text: String(key) }));
  });
  for (const args of [
    ['token', 'list'],
    ['token', 'show', stage.revoked.id],
    ['user', 'list'],
  ]) {
    const { stdout, stderr } = await stage.place.command(...args, '--json');
    life.said.push(stdout, stderr);
  }
  await inService(stage, life, STRICT, (recorder) => wearOut(stage, recorder));
  life.received = stage.receiver.received.map(
    ({ rawHeaders, body, path }) => `${path}\n${rawHeaders.join('\n')}\n${body}`,
  );
  return life;
}

/** Runs a service for the work, and records what it emits. */
async function inService(
  { place, settings }: Stage,
  life: Life,
  env: Record<string, string>,
  work: (recorder: Recorder, server: Server) => Promise<void>,
): Promise<void> {
  const server = await place.serve({ env: { ...settings, ...env } });
  const commandLine = `/proc/${server.pid}/cmdline`;
  if (existsSync(commandLine)) life.commandLines.push(readFileSync(commandLine, 'latin1'));
  await work(createRecorder(life.answers, server.port), server);
  const metrics = await fetch(`http://127.0.0.1:${settings.METRICS_PORT}/metrics`);
  life.said.push(await metrics.text());
  life.files.push(...filesIn(place.dataDir));
  const { stdout, stderr } = await server.stop();
  life.said.push(stdout, stderr);
  life.files.push(...filesIn(place.dataDir));
}

function filesIn(folder: string): string[] {
  return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
}

/** Sends tokens in every place of every operation, and on unknown paths. */
async function showEverywhere(stage: Stage, recorder: Recorder, url: string): Promise<void> {
  const { authorization, revoked, opaque, jwts } = stage;
  const own = authorization.slice('Bearer '.length);
  for (const operation of await servedOperations(url)) {
    // Each place gets each kind of token once.
    const others = operation.operationId === 'createPlant' ? [revoked.text, jwts[0]?.text ?? ''] : [];
    for (const text of [own, ...others]) {
      for (const { place, bytes } of placesOf(operation, text, authorization)) {
        await recorder.send(`${operation.operationId}, ${place}`, bytes);
      }
    }
  }
  for (const { name, text } of [...opaque, ...jwts]) {
    for (const { place, bytes } of unreadable(text, authorization)) {
      await recorder.send(`${place}, ${name}`, bytes);
    }
    for (const path of PAGES) await recorder.request('GET', path, { authorization: `Bearer ${text}` });
  }
}

const PAGES = ['/plants', '/', '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics', '/none'];

/** Settings with tiny limits and an unreachable identity provider. */
const STRICT = {
  AUTH_FAILURE_LIMIT: '5',
  RATE_LIMIT: '5/1h',
  MAX_PLANTS_PER_USER: '1',
  JWT_JWKS_URL: 'http://127.0.0.1:9/',
};

/** Makes it refuse because of limits, then removes its tables. */
async function wearOut({ place, authorization, revoked, bootstrap, jwts }: Stage, recorder: Recorder) {
  for (let i = 0; i < 7; i++) {
    await recorder.request('POST', '/plants', { authorization, body: { name: 'Alder' } });
  }
  await recorder.request('GET', '/plants', { authorization: `Bearer ${jwts[0]?.text}` });
  const admin = `Bearer ${bootstrap.text}`;
  await recorder.request('GET', '/plants', { authorization: admin });
  const lose = (table: string) => place.write(`ALTER TABLE ${table} RENAME TO lost_${table}`);
  lose('plants');
  await recorder.request('GET', '/plants', { authorization: admin });
  await recorder.request('POST', '/plants', { authorization: admin, body: { name: bootstrap.text } });
  lose('tokens');
  await recorder.request('GET', '/plants', { authorization: `Bearer ${revoked.text}` });
  const wrong = `Bearer ${mistyped(authorization.slice('Bearer '.length))}`;
  for (let i = 0; i < 7; i++) await recorder.request('GET', '/plants', { authorization: wrong });
}

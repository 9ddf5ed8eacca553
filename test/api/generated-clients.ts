import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type Service, startService } from '../../testkit/service/service.ts';

/**
 * `node --test test/api/generated-clients.ts`: clients that popular tools generate from the OpenAPI document work with
 * emoji and ids beyond 2^53. Not a part of `npm test`: it installs the tools in a temporary folder, 157 packages of
 * 112 MB with native binaries.
 */

const TOOLS = [
  ...['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'orval@8.38.0', 'zod@4.6.7'],
  '@hey-api/openapi-ts@0.99.0',
];

const ORVAL = `
const input = './openapi.json';
export default {
  zod: { input, output: { client: 'zod', target: './orval/zod.ts' } },
  fetch: { input, output: { client: 'fetch', baseUrl: 'URL', target: './orval/fetch.ts' } },
};`;
const HEY_API = `
const output = { path: './hey-api', module: { extension: '.ts' } };
export default { input: './openapi.json', output, plugins: ['@hey-api/client-fetch', '@hey-api/sdk', 'zod'] };`;
/** A program with the types of openapi-typescript. */
const TYPED = `
import createClient from "openapi-fetch";
import type { paths } from "./types.ts";

export const client = createClient<paths>({ baseUrl: 'URL' });
export async function firstNames(): Promise<(string | undefined)[] | undefined> {
  await client.POST('/plants', { body: { name: 'Alder', tag: 'Alnus', id: 7 } });
  await client.DELETE('/plants/{id}', { params: { path: { id: 7 } } });
  const { data } = await client.GET('/plants', { params: { query: { limit: 2, fields: ['id', 'name'] } } });
  return data?.map(({ name }) => name);
}`;

// biome-ignore lint/suspicious/noExplicitAny: generated while the tests run
type Generated = any;

const folder = mkdtempSync(join(tmpdir(), 'plant-store-generators-'));
const NAME = '🌱 sprout';
const ID = 2n ** 53n + 1n;
/** JSON.stringify writes it digit by digit. TypeScript does not know it yet. */
const exactId = (JSON as Generated).rawJSON(String(ID));
const listed = `[{"id":${ID},"name":"${NAME}"}]`;

let service: Service;
let headers: { authorization: string };
before(async () => {
  service = await startService();
  const files = { 'orval.config.mjs': ORVAL, 'hey-api.config.mjs': HEY_API, 'typed.ts': TYPED };
  for (const [name, text] of Object.entries(files)) write(name, text.replace('URL', service.url));
  write('openapi.json', (await service.request('GET', '/openapi.json')).text);
  write('package.json', '{"private":true,"type":"module"}');
  run('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...TOOLS);
  run('npm', 'exec', '--', 'openapi-typescript', 'openapi.json', '--output', 'types.ts');
  run('npm', 'exec', '--', 'orval', '--config', 'orval.config.mjs');
  run('npm', 'exec', '--', 'openapi-ts', '--file', 'hey-api.config.mjs');
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async ({ name }) => {
  headers = { authorization: `Bearer ${await service.tokenFor(name)}` };
});

test('the generated code compiles', () => {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'preserve', '--target', 'esnext'];
  const files = ['typed.ts', 'orval/zod.ts', 'orval/fetch.ts', 'hey-api/index.ts', 'hey-api/zod.gen.ts'];
  run('tsc', '--ignoreConfig', '--allowImportingTsExtensions', ...options, ...files);
});

test('a client of openapi-typescript keeps emoji and every digit of an id', async () => {
  const { client } = await generated('typed.ts');
  const { response } = await client.POST('/plants', { headers, body: { name: NAME, id: exactId } });
  assert.equal(response.headers.get('location'), `/plants/${ID}`);
  const params = { query: { fields: ['id', 'name'] } };
  assert.equal((await client.GET('/plants', { headers, params, parseAs: 'text' })).data, listed);
  const gone = await client.DELETE('/plants/{id}', { headers, params: { path: { id: ID } } });
  assert.equal(gone.response.status, 204);
});

test('a client of orval keeps emoji and refuses a rounded id', async () => {
  const { CreatePlantBody, ListPlantsResponse } = await generated('orval/zod.ts');
  const { createPlant, listPlants, deletePlant } = await generated('orval/fetch.ts');
  const { name } = CreatePlantBody.parse({ name: NAME, id: 7 });
  const made = await createPlant({ name, id: exactId }, { headers });
  assert.equal(made.headers.get('location'), `/plants/${ID}`);
  const { data } = await listPlants({ fields: ['name'] }, { headers });
  assert.deepEqual(ListPlantsResponse.parse(data), [{ name: NAME }]);
  // Its JSON.parse rounds the id, which its schema then refuses.
  const rounded = await listPlants({ fields: ['id', 'name'] }, { headers });
  assert.throws(() => ListPlantsResponse.parse(rounded.data), /"id"/);
  assert.equal((await deletePlant(ID, { headers })).status, 204);
});

test('a client of hey-api keeps emoji and every digit of an id', async () => {
  const { zPlantInput, zListedPlant } = await generated('hey-api/zod.gen.ts');
  const { createPlant, listPlants, deletePlant } = await generated('hey-api/sdk.gen.ts');
  const usual = { headers, baseUrl: service.url };
  const { name } = zPlantInput.parse({ name: NAME });
  const { response } = await createPlant({ ...usual, body: { name, id: exactId } });
  assert.equal(response.headers.get('location'), `/plants/${ID}`);
  const query = { fields: ['id', 'name'] };
  const { data } = await listPlants({ ...usual, query, parseAs: 'text' });
  assert.equal(data, listed);
  const [plant] = JSON.parse(data, (_name, value, context?: { source?: string }) =>
    typeof value === 'number' ? BigInt(context?.source ?? value) : value,
  );
  assert.deepEqual(zListedPlant.parse(plant), { id: ID, name: NAME });
  assert.equal((await deletePlant({ ...usual, path: { id: ID } })).response.status, 204);
});

function generated(file: string): Promise<Generated> {
  return import(join(folder, file));
}

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { findChromium } from '../testkit/browser/chromium.ts';
import { openShell, startServing } from '../testkit/processes/shell.ts';
import { freePort } from '../testkit/sockets/free-port.ts';
import { table } from './measure/report.ts';
import { temporaryFolder } from './servers/cleanup.ts';

/**
 * `node bench/first-time.ts`: follows the README as a first-time user with an empty home: clone, install, start,
 * paste the quick start up to the import, and look at the console. It measures the machine's time, without reading
 * and pasting.
 */

const ROOT = join(import.meta.dirname, '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const [, quickStart = ''] = /^## Quick start\n(.*?)^## /ms.exec(README) ?? [];
const blocks = (language: string) =>
  [...quickStart.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(
    ([, text = '']) => text,
  );
const [receiver = ''] = blocks('js');
const [start = '', prepare = '', subscribe = ''] = blocks('bash');

await using cleanup = new AsyncDisposableStack();
const steps: { step: string; seconds: number }[] = [];
const home = temporaryFolder().path;
const folder = join(temporaryFolder().path, 'plant-store');
// Without npm's additions to the path of this program: the system's own Node and npm.
const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules'));
const env = { PATH: path.join(delimiter), HOME: home, PORT: '0' };
const run = (command: string, args: string[], cwd: string) =>
  execFileSync(command, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });

await step('git clone', async () => run('git', ['clone', '-q', ROOT, folder], home));
await step('npm ci', async () => run('npm', ['ci'], folder));
const place = { folder, env };
const service = await step('npm start, until the token is shown', () => startServing(start, place));
cleanup.defer(service.stop);
const port = String(await freePort());
const fill = (text: string) =>
  text
    .replaceAll('http://127.0.0.1:3000', service.url)
    .replaceAll('pst_…', service.token)
    .replaceAll('4000', port);
const shell = openShell(place);
cleanup.defer(shell.stop);
await step('receiver and webhook', async () => {
  writeFileSync(join(folder, 'receiver.mjs'), fill(receiver));
  await shell.paste(fill(prepare));
  await shell.paste(fill(subscribe));
});
const launch = await findChromium();
const browser = await chromium.launch({ ...launch, chromiumSandbox: false });
cleanup.defer(() => browser.close());
await step('console: sign in, add a plant, see it', async () => {
  const page = await browser.newPage();
  await page.goto(`${service.url}/console`);
  await page.getByLabel('Token', { exact: true }).fill(service.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Plants' }).first().click();
  await page.getByRole('button', { name: 'Add a plant' }).click();
  await page.getByLabel('Name').fill('Rowan');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('cell', { name: 'Rowan', exact: true }).waitFor();
});
await step('its webhook, received and verified', async () => {
  while (!readFileSync(join(folder, 'receiver.log'), 'utf8').includes('verified')) await pause(20);
});
const total = steps.reduce((sum, { seconds }) => sum + seconds, 0);
const rows = [...steps, { step: 'all of it', seconds: total }];
console.log(
  table(
    ['Step', 'Seconds'],
    rows.map(({ step: name, seconds }) => [name, seconds.toFixed(1)]),
  ),
);

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await work();
  steps.push({ step: name, seconds: (performance.now() - begun) / 1000 });
  return result;
}

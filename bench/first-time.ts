import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { signIn } from '../testkit/browser/browser.ts';
import { findChromium } from '../testkit/browser/chromium.ts';
import { addPlant, blocksOf, environmentAt, startNewcomer } from '../testkit/processes/newcomer.ts';
import { table } from './measure/report.ts';
import { temporaryFolder } from './servers/cleanup.ts';

/**
 * `node bench/first-time.ts`: follows the README as a first-time user with an empty home: clone, install, start, create
 * the webhook, and add a plant in the console. It measures the machine's time, without reading and pasting. Fails if a
 * command warns of something, or leaves a file that git would add.
 */

const ROOT = join(import.meta.dirname, '..');
const [start = '', create = '', subscribe = ''] = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));

await using cleanup = new AsyncDisposableStack();
const steps: { step: string; seconds: number }[] = [];
const home = temporaryFolder().path;
const folder = join(temporaryFolder().path, 'plant-store');
const env = environmentAt(home);

/** Returns its output. Throws if it fails or says anything on standard error. */
function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (status !== 0 || stderr !== '') throw new Error(`${command} ${args.join(' ')}: ${status} ${stderr}`);
  return stdout;
}

await step('git clone', async () => void run('git', ['clone', '-q', ROOT, folder], home));
await step('npm ci', async () => void run('npm', ['ci'], folder));
const newcomer = await step('npm start, until the token is shown', () =>
  startNewcomer(start.replace('npm ci && ', ''), { folder, env }),
);
cleanup.defer(newcomer.stop);
await step('receiver and webhook', async () => {
  await newcomer.paste(create);
  await newcomer.paste(subscribe);
});
const launch = await findChromium();
const browser = await chromium.launch({ ...launch, chromiumSandbox: false });
cleanup.defer(() => browser.close());
await step('console: sign in, add a plant', async () => {
  const page = await browser.newPage();
  await page.goto(`${newcomer.service.url}/console`);
  await signIn(page, newcomer.service.token);
  await addPlant(page, { Name: 'Rowan' });
});
await step('its webhook, received and verified', () => newcomer.verified(1));
const left = run('git', ['status', '--porcelain'], folder);
// `startNewcomer` replaces the receiver's port.
if (left !== ' M examples/receiver.mjs\n') throw new Error(`The README leaves changes behind:\n${left}`);
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

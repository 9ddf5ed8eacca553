import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { chromium, type Page } from 'playwright-core';
import { findChromium } from '../../testkit/browser/chromium.ts';
import { openShell, startServing } from '../../testkit/processes/shell.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const TUTORIAL = readFileSync(join(ROOT, 'docs', 'tutorial.md'), 'utf8');
const PATIENCE_MS = 30_000;

const [install = '', start = '', ...pasted] = [...TUTORIAL.matchAll(/^```bash\n(.*?)^```/gms)].map(
  ([, text = '']) => text,
);

test('the tutorial, with each block pasted and the console in a browser, works as written', async () => {
  assert.equal(install, 'npm ci\n');
  await using cleanup = new AsyncDisposableStack();
  const folder = copyProject();
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const place = { folder, env: newcomersEnvironment(join(folder, 'home')) };
  const service = await startServing(start, place);
  cleanup.defer(service.stop);
  const port = String(await freePort());
  const fill = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:3000', service.url)
      .replaceAll('pst_…', service.token)
      .replaceAll('4000', port);
  const receiver = join(folder, 'examples', 'receiver.mjs');
  writeFileSync(receiver, fill(readFileSync(receiver, 'utf8')));
  const log = join(folder, 'receiver.log');
  const shell = openShell(place);
  cleanup.defer(shell.stop);
  const blocks = pasted.values();
  const paste = () => shell.paste(fill(blocks.next().value ?? ''));

  const page = await openConsole(cleanup, service.url);
  await signIn(page, service.token);
  await addPlant(page, { Name: 'Alder', Tag: 'Alnus', Id: '2000' });

  await paste();
  assert.match(await paste(), /^HTTP\/1\.1 201 Created\r?\nlocation: \/plants\/2001\r?\n/);
  assert.equal(await paste(), shown('ID    NAME'));

  await paste();
  assert.equal(await paste(), '2002\n');
  await untilVerified(log, 1);
  assert.equal(await paste(), shown('verified {"id":2002'));

  await paste();
  await untilVerified(log, 631);
  assert.equal(await paste(), '631\n');

  assert.match(await paste(), /^631\n(?:.*\n)*evt_\S+ +plant\.created +pending +.* 631 +Hazel/);
  await turnTo(page, 'Deliveries');
  await page.getByRole('link', { name: 'Hazel' }).click();
  await page.getByText('The receiver refused the connection.').first().waitFor();
  await paste();
  await untilListening(Number(port));
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Delivered', { exact: true }).waitFor();
  await untilVerified(log, 632);
  assert.equal(await paste(), shown('verified {"id":631'));

  assert.match(
    await paste(),
    /^Service +http.*\nAlive +yes\nReady +yes.*\nPlants .*\nWebhooks +1, all well; 0 waiting/,
  );
  const said = readFileSync(join(folder, 'stderr.log'), 'utf8');
  assert.match(said, /^Exported 634 plants of "admin" to plants\.csv\.$/m);
  assert.match(said, /^Backed up 634 plants to /m);
  await paste();
  assert.ok(!existsSync(log));
  assert.deepEqual([...blocks], []);
});

/** The output in the tutorial that starts like this. */
function shown(beginning: string): string {
  const found = [...TUTORIAL.matchAll(/^```text\n(.*?)^```/gms)].find(([, text]) =>
    text?.startsWith(beginning),
  );
  return found?.[1] ?? assert.fail(`The tutorial shows no output that begins with ${beginning}`);
}

/** The part of a clone after `npm ci` that the tutorial needs. */
function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-tutorial-'));
  for (const name of ['bin', 'src', 'packages', 'examples', 'build/console', 'package.json', '.npmrc']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'home'));
  return folder;
}

/** Excludes the npm that runs the tests, and keeps npm from building the pages again. */
function newcomersEnvironment(home: string): Record<string, string> {
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules'));
  return {
    PATH: path.join(delimiter),
    HOME: home,
    PORT: '0',
    npm_config_ignore_scripts: 'true',
    npm_config_update_notifier: 'false',
  };
}

async function openConsole(cleanup: AsyncDisposableStack, url: string): Promise<Page> {
  const { executablePath, env } = await findChromium();
  const browser = await chromium.launch({
    executablePath,
    chromiumSandbox: false,
    env: { ...process.env, ...env },
  });
  cleanup.defer(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`${url}/console`);
  return page;
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function turnTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name }).click();
}

async function addPlant(page: Page, fields: { Name: string; Tag: string; Id: string }): Promise<void> {
  await turnTo(page, 'Plants');
  await page.getByRole('button', { name: 'Add a plant' }).click();
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('cell', { name: fields.Id, exact: true }).waitFor();
}

async function untilVerified(log: string, count: number): Promise<void> {
  const verified = () => readFileSync(log, 'utf8').match(/^verified /gm)?.length ?? 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const check = () => verified() >= count && resolve();
  const watcher = watch(log, check);
  const late = setTimeout(() => reject(new Error(`${verified()} of ${count} are verified.`)), PATIENCE_MS);
  try {
    check();
    await promise;
  } finally {
    clearTimeout(late);
    watcher.close();
  }
}

/** A person takes longer to reach the browser than the receiver to start. */
async function untilListening(port: number): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const answer = await fetch(`http://127.0.0.1:${port}`).catch(() => undefined);
    if (answer) return void (await answer.text());
  }
  throw new Error('The receiver does not listen.');
}

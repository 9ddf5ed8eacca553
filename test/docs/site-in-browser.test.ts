import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pageSources, root } from '../../docs/site/sources.ts';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { startService } from '../../testkit/service/service.ts';

/** Tests the documentation built by `npm run build` in a real browser. */

refuseOldBuild();
const service = await startService();
after(() => service.stop());
const browser = await startBrowser();
after(() => browser.stop());

async function read(path: string, use: (page: Page) => Promise<void>, width = 1600): Promise<void> {
  const context = { permissions: ['clipboard-read', 'clipboard-write'] };
  await browser.visit(service, { token: null, width, context }, async (page) => {
    const answer = await page.goto(`${service.url}/docs/${path}`);
    assert.equal(answer?.status(), 200);
    await use(page);
  });
}

for (const path of [
  '',
  'tutorial.html',
  'architecture.html',
  'how-to/receive-webhooks.html',
  'reference/webhooks.html',
  'reference/errors.html',
  'reference/cli/plant.html',
  'decisions/index.html',
  'files/examples/receiver.mjs.html',
]) {
  test(`axe finds nothing on /docs/${path}, in light and dark, on a narrow and a wide screen`, async () => {
    await read(path, (page) => inspect(page, `docs-${path.replace(/\W+/g, '-') || 'start'}`));
  });
}

test('the reference shows the operations of this service, and links back to the other pages', async () => {
  await read('api/', async (page) => {
    const refused: string[] = [];
    page.on('console', (message) => message.type() === 'error' && refused.push(message.text()));
    await page.locator('.opblock').filter({ hasText: '/plants/{id}' }).first().waitFor();
    await page.getByRole('link', { name: 'Documentation' }).click();
    await page.waitForURL('**/docs/index.html');
    assert.deepEqual(refused, []);
  });
});

test('the search finds a section by its words, by keyboard alone, and opens it', async () => {
  await read('how-to/tokens.html', async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('exit codes stop');
    const found = page.locator('.found a').first();
    await found.waitFor();
    assert.match(await found.innerText(), /^Stop, and exit codes\s+Run the service/);
    await page.getByText(/places? found/).waitFor();
    await inspect(page, 'docs-search');
    await page.getByLabel('Search').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/how-to/run-the-service.html#stop-and-exit-codes');
    await page.keyboard.press('/');
    await page.keyboard.type('xylophone');
    await page.getByText('Nothing is found.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Nothing is found.').waitFor({ state: 'hidden' });
  });
});

test('a code block can be copied; of a terminal dialogue, only the typed part', async () => {
  await read('how-to/sharing.html', async (page) => {
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    assert.match(
      String(copied),
      /^npx plant-store user create ann\nnpx plant-store user create bob\nnpx [^\n]+$/,
    );
  });
});

test('on a narrow screen a button shows the pages and the sections', async () => {
  await read(
    'tutorial.html',
    async (page) => {
      const pages = page.getByRole('navigation', { name: 'Pages' });
      await pages.waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'On this page' }).click();
      await page.getByRole('link', { name: '8. Clean up' }).click();
      await page.getByRole('navigation', { name: 'On this page' }).waitFor({ state: 'hidden' });
      assert.match(page.url(), /#8-clean-up$/);
      await page.getByRole('button', { name: 'Pages' }).click();
      await inspect(page, 'docs-pages');
      await pages.getByText('Hear about new plants').click();
      await pages.getByRole('link', { name: 'Receive webhooks' }).click();
      await page.getByRole('heading', { name: 'Receive webhooks', level: 1 }).waitFor();
    },
    360,
  );
});

test('from page to page: next, the reference of the API and back, the console', async () => {
  await read('', async (page) => {
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Your first ten minutes', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('link', { name: 'Documentation' }).click();
    await page.getByRole('heading', { name: 'Documentation', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });
});

/** An old build would test old pages. */
function refuseOldBuild(): void {
  const built = statSync(join(root, 'build/docs/index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const files = [
    ...pageSources(),
    ...globSync(['docs/**/*.svg', 'docs/site/**/*.{ts,css,js}'], { cwd: root }),
  ];
  const newer = files.find((file) => statSync(join(root, file)).mtimeMs > built);
  if (newer) throw new Error(`${newer} is newer than build/docs. Run "npm run prepare".`);
}

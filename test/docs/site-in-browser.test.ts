import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';
import { pageSources, root } from '../../docs/site/sources.ts';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { startService } from '../../testkit/service/service.ts';

/** Tests the documentation built by `npm run build` in a real browser. */

refuseOldBuild();
const service = await startService();
after(() => service.stop());
const browser = await startBrowser();
after(() => browser.stop());

async function read(path: string, use: (page: Page) => Promise<void>, width = 1600): Promise<void> {
  const context = { permissions: ['clipboard-read', 'clipboard-write'] };
  await browser.visit(service, { at: `/docs/${path}`, token: null, width, context }, use);
}

const INSPECTED = [
  '',
  'tutorial.html',
  'architecture.html',
  'how-to/receive-webhooks.html',
  'reference/webhooks.html',
  'reference/errors.html',
  'reference/cli/plant.html',
  'api/',
  'api/create-plant.html',
  'decisions/index.html',
  'files/examples/receiver.mjs.html',
];

test('axe finds nothing in the documentation', async (t) => {
  // In one tab, which compiles the half megabyte of axe once.
  await read('', async (page) => {
    for (const path of INSPECTED) {
      const name = `axe finds nothing on /docs/${path}, in light and dark, on a narrow and a wide screen`;
      await t.test(name, async () => {
        await page.evaluate('sessionStorage.clear()');
        assert.equal((await page.goto(`${service.url}/docs/${path}`))?.status(), 200);
        await inspect(page, `docs-${path.replace(/\W+/g, '-') || 'start'}`);
      });
    }
  });
});

test('an operation can be tried on its page: the service answers, and ids keep all their digits', async () => {
  await read('api/create-plant.html', async (page) => {
    await page.getByText('Try it').click();
    await page.getByLabel('Token').fill(service.token);
    await page.getByLabel('Body').fill('{"name":"Elder","id":9007199254740993}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('201 Created', { exact: true }).waitFor();
    await page.getByText('location: /plants/9007199254740993').waitFor();
    await inspect(page, 'docs-try-it');
    await page.getByRole('link', { name: 'List plants', exact: true }).click();
    await page.getByText('Try it').click();
    await page.getByLabel('name', { exact: true }).fill('el');
    await page.getByLabel('fields').fill('id,name');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/"id": 9007199254740993,\s+"name": "Elder"/).waitFor();
  });
});

for (const [what, get] of [
  ['blocks', `throw new DOMException('Access is denied.', 'SecurityError')`],
  ['lacks', 'return null'],
] as const) {
  test(`an operation can be tried in a browser that ${what} storage`, async () => {
    await read('api/create-plant.html', async (page) => {
      await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', { get() { ${get}; } })`);
      await page.reload();
      await page.getByText('Client', { exact: true }).click();
      await page.getByText('Try it').click();
      await page.getByLabel('Token').fill(service.token);
      await page.getByLabel('Body').fill('{"name":"Hazel"}');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('201 Created', { exact: true }).waitFor();
    });
  });
}

test('a double click on Send sends once and stops nothing, and no earlier response stands beside it', async () => {
  await read('api/create-plant.html', async (page) => {
    const response = page.locator('.try pre');
    await page.getByText('Try it').click();
    await page.getByLabel('Token').fill(service.token);
    await page.getByLabel('Body').fill('{"name":"Hazel"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await response.getByText('"name": "Hazel"').waitFor();
    const held = await intercept(page, (request) => request.method() === 'POST');
    await page.getByLabel('Body').fill('{"name":"Sorrel"}');
    await page.getByRole('button', { name: 'Send' }).dblclick();
    const route = await held.next(1);
    assert.equal(await response.isVisible(), false);
    await route.continue();
    await response.getByText('"name": "Sorrel"').waitFor();
    assert.equal(held.routes.length, 1);
    await page.getByRole('button', { name: 'Send' }).press('Enter');
    await held.next(2);
    await page.getByRole('button', { name: 'Stop' }).press('Enter');
    await page.getByText('Stopped. The service may have done it all the same.').waitFor();
  });
});

test('a stream is shown as it arrives, until it is stopped or, as the page says, too long', async () => {
  await read('api/stream-events.html', async (page) => {
    await page.getByText('Try it').click();
    await page.getByLabel('Token').fill(service.token);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('text/event-stream').waitFor();
    await service.request('POST', '/plants', { body: { name: 'Rowan' } });
    await page.getByText(/"name":"Rowan"/).waitFor();
    await page.getByLabel('Token').fill('');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped.', { exact: true }).waitFor();
    await page.getByLabel('Token').fill(service.token);
    await page.route('**/events/stream', (route) => route.fulfill({ body: 'x '.repeat(100_001) }));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('… These are the first 200000 characters.').waitFor();
  });
});

test('the examples of a chosen program stay chosen on the next page', async () => {
  await read('api/create-plant.html', async (page) => {
    const shown = page.locator('.tabs .code:visible');
    assert.match(await shown.innerText(), /^curl /);
    await page.getByText('Client', { exact: true }).click();
    assert.match(await shown.innerText(), /^await store\.plants\.create/);
    await page.getByRole('link', { name: 'Delete a plant', exact: true }).click();
    await page.getByRole('heading', { name: 'Delete a plant' }).waitFor();
    assert.match(await shown.innerText(), /^await store\.plants\.delete/);
  });
});

test('the search finds a section by its words, by keyboard alone, and opens it', async () => {
  await read('how-to/tokens.html', async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('exit codes stop');
    const found = page.locator('.found a').first();
    await found.waitFor();
    assert.match(await found.innerText(), /^Stop, and exit codes\s+Run the service/);
    await page.getByText(/^(?:The best )?\d+ results?$/).waitFor();
    await inspect(page, 'docs-search');
    await page.getByLabel('Search').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/how-to/run-the-service.html#stop-and-exit-codes');
    await page.keyboard.press('/');
    await page.keyboard.type('xylophone');
    await page.getByText('No results.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('No results.').waitFor({ state: 'hidden' });
    await page.keyboard.type('xylophone');
    await page.getByText('No results.').waitFor();
    await page.keyboard.press('Tab');
    await page.getByText('No results.').waitFor({ state: 'hidden' });
  });
});

test('what is found in a heading alone is shown from the beginning', async () => {
  await read('', async (page) => {
    await page.getByLabel('Search').fill('token');
    await page.getByText('The best 12 results').waitFor();
    await page.getByLabel('Search').fill('redeliver parameters');
    const found = page.locator('.found a', { hasText: /^Parameters\s*Redeliver/ });
    assert.doesNotMatch(await found.locator('span').innerText(), /^…/);
  });
});

test('a search that cannot load says so, and a field that is cleared while it loads shows no result', async () => {
  await read('', async (page) => {
    const search = page.getByLabel('Search');
    await page.route('**/*.json.gz', (route) => route.fulfill({ status: 503 }));
    await search.fill('tokens');
    await page.getByRole('status').getByText('The search could not be loaded.').waitFor();
    const index = Promise.withResolvers<Route>();
    await page.route('**/*.json.gz', (route) => index.resolve(route));
    await search.fill('tokens');
    const route = await index.promise;
    await search.fill('');
    const loaded = page.waitForResponse('**/*.json.gz');
    await route.continue();
    await (await loaded).finished();
    // Nothing signals that the search does not begin.
    await pause(300);
    assert.equal(await page.getByText('No results.').isVisible(), false);
    await search.fill('tokens');
    await page.locator('.found a').first().waitFor();
  });
});

test('Enter follows no result that is hidden', async () => {
  await read('how-to/tokens.html', async (page) => {
    await page.evaluate(`document.addEventListener('click', (event) => {
      event.preventDefault();
      document.title = 'followed';
    })`);
    const search = page.getByLabel('Search');
    const first = page.locator('.found a').first();
    for (const hide of [() => search.press('Escape'), () => search.fill('')]) {
      await search.fill('exit codes');
      await first.waitFor();
      await hide();
      await first.waitFor({ state: 'hidden' });
      await search.press('Enter');
    }
    assert.notEqual(await page.title(), 'followed');
  });
});

test('the search finds what readers look for', async (t) => {
  await read('', async (page) => {
    const [search, found] = [page.getByLabel('Search'), page.locator('.found a').first()];
    for (const [typed, first] of [
      ['40900', /^(?:409 Conflict|Create a plant)/],
      ['GET /plants', /^List plants GET \/plants/],
      ['pagination', /cursor/i],
      ['healthchecks', /^Health/],
      ['rate limiting', /42900|429 /],
      ['environment variables', /^Configuration/],
      ['dead letter', /^Redeliver an event/],
      ['rotate secrte', /secret/i],
    ] as const) {
      await t.test(`the search finds "${typed}"`, async () => {
        await search.fill('');
        await found.waitFor({ state: 'hidden' });
        await search.fill(typed);
        await found.waitFor();
        assert.match(await found.innerText(), first);
      });
    }
  });
});

test('the button that copies covers no code', async () => {
  const covered = `[...document.querySelectorAll('.code')].filter(({ children: [code, button] }) =>
    code.getBoundingClientRect().right > button.getBoundingClientRect().left).length`;
  await read(
    'how-to/receive-webhooks.html',
    async (page) => assert.equal(await page.evaluate(covered), 0),
    360,
  );
});

test('a code block can be copied; of a terminal dialogue, only the typed part', async () => {
  await read('how-to/sharing.html', async (page) => {
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    assert.match(copied, /^plant-store user create ann\nplant-store user create bob\nplant-store [^\n]+$/);
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

test('from page to page: next, the operations, the console', async () => {
  await read('', async (page) => {
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByRole('heading', { name: 'Your first ten minutes', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'Operations', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });
});

/** An old build would test old pages. */
function refuseOldBuild(): void {
  const built = statSync(join(root, 'build/docs/index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const files = [
    ...pageSources(),
    ...globSync(['docs/**/*.svg', 'docs/site/**/*.{ts,css,js}', 'console/src/{icon.svg,styles/theme.css}'], {
      cwd: root,
    }),
  ];
  const newer = files.find((file) => statSync(join(root, file)).mtimeMs > built);
  if (newer) throw new Error(`${newer} is newer than build/docs. Run "npm run prepare".`);
}

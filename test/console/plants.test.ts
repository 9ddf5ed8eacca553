import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { isolated } from '../../console/src/format.ts';
import { signIn, startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { scrape } from '../../testkit/service/scrape.ts';
import { startService } from '../../testkit/service/service.ts';

const service = await startService({ METRICS_PORT: '0' });
after(() => service.stop());
const browser = await startBrowser();
after(() => browser.stop());

test('a person without plants is shown how to start', async () => {
  const token = await service.tokenFor('beginner');
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    await page.getByRole('button', { name: 'Add a plant' }).waitFor();
    await page.getByRole('link', { name: 'Import' }).waitFor();
    await inspect(page, 'plants-empty');
  });
});

test('a plant can be added by keyboard alone, and errors are shown at their field', async () => {
  const token = await service.tokenFor('gardener');
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Add a plant' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Add a plant' });
    await dialog.waitFor();
    await page.keyboard.press('Enter');
    await dialog.getByText('Enter a name.').waitFor();
    await page.keyboard.type('Alder');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Alnus');
    await page.keyboard.press('Tab');
    await page.keyboard.type('9007199254740993.5');
    await page.keyboard.press('Enter');
    await dialog.getByText('The id must be a 64-bit integer').waitFor();
    await inspect(page, 'plants-add-wrong');
    for (let at = 0; at < 2; at++) await page.keyboard.press('Backspace');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('cell', { name: '9007199254740993', exact: true }).waitFor();
    // The button that had the focus is gone with the empty page.
    await page.locator('h1:focus').waitFor();
    await inspect(page, 'plants-one');
  });
});

test('a plant that was added elsewhere in the list can be shown', async () => {
  const token = await service.tokenFor('appender');
  await grow('appender', numbered(60));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Zelkova');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show' }).click();
    await cell(page, 'Zelkova').waitFor();
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.locator('h1:focus').waitFor();
  });
});

test('the documentation opens beside the console, which stays signed in', async () => {
  await browser.visit(service, { at: '#/plants' }, async (page) => {
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Documentation' }).click();
    await (await opened).waitForURL(/\/docs\/$/);
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
  });
});

test('a taken id is reported at the id field, and accepted as soon as it is free', async () => {
  const token = await service.tokenFor('twice');
  succeeded(await service.request('POST', '/plants', { token, body: { id: 7, name: 'Alder' } }), 201);
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Birch');
    await page.getByLabel('Id').fill('7');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('You already have a plant with the id 7').waitFor();
    assert.equal(await page.getByLabel('Id').getAttribute('aria-invalid'), 'true');
    succeeded(await service.request('DELETE', '/plants/7', { token }), 204);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await cell(page, 'Birch').waitFor();
  });
});

/** Gives the user these plants, beside the service: requests would take long. */
async function grow(
  user: string,
  plants: readonly { id: number; name: string; tag?: string }[],
): Promise<void> {
  await service.beside(async ({ store, runtime }) => {
    const owner = (await store.access.users()).find(({ name }) => name === user)?.id ?? 0;
    for (const { id, name, tag } of plants) {
      const made = { at: runtime.clock.now(), event: runtime.ids.next('evt') };
      const outcome = await store.plants.create({ owner, id: BigInt(id), name, tag, ...made });
      assert.equal(outcome, BigInt(id));
    }
  });
}

/** Plants with the ids and numbers from 1. */
function numbered(count: number): { id: number; name: string; tag: string }[] {
  return Array.from({ length: count }, (_, at) => ({ id: at + 1, name: `Plant ${at + 1}`, tag: 'Tagged' }));
}

async function boxOf(control: Locator): Promise<{ x: number; y: number; width: number }> {
  const box = await control.boundingBox();
  assert.ok(box);
  return box;
}

function cell(page: Page, name: string): Locator {
  return page.getByRole('cell', { name, exact: true });
}

test('plants can be paged through, and deleted after confirmation', async () => {
  const token = await service.tokenFor('collector');
  await grow('collector', numbered(60));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await cell(page, 'Plant 50').waitFor();
    await inspect(page, 'plants');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Page 2').waitFor();
    await cell(page, 'Plant 60').waitFor();
    const last = page.getByRole('button', { name: 'Last' });
    assert.equal(await last.getAttribute('title'), 'This is the last page.');
    await inspect(page, 'plants-second');
    await page.getByRole('button', { name: 'Delete Plant 60, plant 60' }).click();
    await page.getByRole('dialog', { name: `Delete ${isolated('Plant 60')}?` }).waitFor();
    await inspect(page, 'plants-delete');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText(`${isolated('Plant 60')} was deleted.`).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await cell(page, 'Plant 60').count(), 0);
    const first = page.getByRole('button', { name: 'First' });
    await first.press('Enter');
    await cell(page, 'Plant 1').waitFor();
    await page.locator('button:focus', { hasText: 'First' }).waitFor();
  });
});

test('a double click on the bin of a plant asks, although Delete appears below the pointer', async () => {
  const token = await service.tokenFor('hasty');
  await grow('hasty', numbered(20));
  await browser.visit(service, { at: '#/plants', token, width: 320 }, async (page) => {
    const deletions = await intercept(page, (request) => request.method() === 'DELETE');
    const bin = page.getByRole('button', { name: 'Delete Plant 9, plant 9' });
    const confirm = page.getByRole('button', { name: 'Delete', exact: true });
    await bin.click();
    const below = await boxOf(confirm);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.evaluate(`scrollBy(0, ${(await boxOf(bin)).y - below.y})`);
    const { x, y } = await boxOf(bin);
    const right = below.x + below.width;
    assert.ok(x < right);
    await page.mouse.click((x + right) / 2, y + 10, { clickCount: 2 });
    assert.equal(await confirm.getAttribute('aria-busy'), 'false');
    assert.equal(deletions.routes.length, 0);
    const deletion = deletions.next(1);
    await confirm.click();
    await (await deletion).continue();
    await page.getByText(`${isolated('Plant 9')} was deleted.`).waitFor();
  });
});

test('a message does not appear below an open dialog, where nothing is read out', async () => {
  const token = await service.tokenFor('listener');
  await grow('listener', numbered(1));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Delete Plant 1, plant 1' }).click();
    const lists = await intercept(page, (request) => request.method() === 'GET');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const list = await lists.next(1);
    assert.equal(await page.getByRole('dialog').count(), 1);
    assert.equal(await page.getByText('was deleted.').count(), 0);
    await list.continue();
    await page.getByText('was deleted.').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

test('chosen plants are deleted by keyboard after one question, and those that could not be stay chosen', async () => {
  const token = await service.tokenFor('thinner');
  await grow('thinner', numbered(60));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    const dialog = page.getByRole('dialog');
    const remove = page.getByRole('button', { name: /^Delete \d* ?plants?$/ });
    await cell(page, 'Plant 50').waitFor();
    assert.equal(await remove.getAttribute('title'), 'Choose plants first.');
    await page.getByLabel('Choose Plant 3, plant 3').press('Space');
    await page.getByRole('button', { name: 'Next' }).press('Enter');
    await cell(page, 'Plant 60').waitFor();
    await page.getByLabel('Choose all on this page').press('Space');
    await page.getByLabel('Choose all on this page').press('Space');
    await page.getByRole('button', { name: 'Previous' }).press('Enter');
    assert.ok(await page.getByLabel('Choose Plant 3, plant 3').isChecked());
    await page.getByLabel('Choose all on this page').press('Space');
    await page.getByLabel('Choose Plant 2, plant 2').press('Space');
    assert.equal(await page.getByLabel('Choose all on this page').isChecked(), false);
    await inspect(page, 'plants-chosen');

    const refused = { status: 503, json: { error: 50300, message: 'The service is overloaded.' } };
    await page.route('**/plants/7', (route) => route.fulfill(refused));
    await remove.press('Enter');
    await dialog.getByRole('heading', { name: 'Delete 49 plants?' }).waitFor();
    await inspect(page, 'plants-delete-chosen');
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
    await dialog
      .getByText(
        /^48 plants were deleted, and 1 plant was not\. \u2068Plant 7\u2069, plant 7: The service is overloaded/,
      )
      .waitFor();
    await dialog.getByRole('heading', { name: 'Delete 1 plant?' }).waitFor();
    await page.unrouteAll();
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByText('1 plant was deleted.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await page.locator('td.name').allInnerTexts(), [
      'Plant 2',
      ...Array.from({ length: 10 }, (_, at) => `Plant ${at + 51}`),
    ]);

    await page.getByLabel('Choose all on this page').press('Space');
    await remove.press('Enter');
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    // What opened the dialog is gone with the plants.
    await page.locator('h1:focus').waitFor();
  });
});

test('the last page has the last plants, in either order, and leads back', async () => {
  const token = await service.tokenFor('finisher');
  await grow('finisher', numbered(160));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Last' }).click();
    await page.getByText('Last page').waitFor();
    await cell(page, 'Plant 160').waitFor();
    assert.equal(await cell(page, 'Plant 110').count(), 0);
    await inspect(page, 'plants-last');
    const previous = page.getByRole('button', { name: 'Previous' });
    for (const [number, [highest, lowest]] of [
      [2, [110, 61]],
      [3, [60, 11]],
      [4, [10, 1]],
    ] as const) {
      await previous.click();
      await page.getByText(`Page ${number} from the end`).waitFor();
      await cell(page, `Plant ${highest}`).waitFor();
      assert.equal(await page.locator('tbody tr').count(), highest - lowest + 1);
    }
    assert.equal(await previous.getAttribute('title'), 'This is the first page.');
    await inspect(page, 'plants-from-end');
    await page.getByRole('button', { name: 'Next' }).click();
    await cell(page, 'Plant 11').waitFor();
    await page.reload();
    await signIn(page, token);
    await cell(page, 'Plant 60').waitFor();
    await page.getByRole('button', { name: 'First' }).click();
    await page.getByText('Page 1').waitFor();
    await page.getByLabel('Order').selectOption('Highest id first');
    await cell(page, 'Plant 120').waitFor();
    await page.getByRole('button', { name: 'Last' }).click();
    await cell(page, 'Plant 1').waitFor();
    assert.equal(await page.locator('tbody tr').count(), 50);
    await page.getByRole('button', { name: 'First' }).click();
    await cell(page, 'Plant 160').waitFor();
  });
});

test('page, order and search survive reload and Back', async () => {
  const token = await service.tokenFor('returner');
  await grow('returner', numbered(120));
  await browser.visit(service, { at: '#/plants', token: null }, async (page) => {
    await page.getByLabel('Keep until this tab closes').check();
    await signIn(page, token);
    await page.getByLabel('Order').selectOption('Highest id first');
    await cell(page, 'Plant 120').waitFor();
    for (const name of ['Plant 70', 'Plant 20']) {
      await page.getByRole('button', { name: 'Next' }).click();
      await cell(page, name).waitFor();
    }
    await page.reload();
    await page.getByText('Page 3').waitFor();
    await cell(page, 'Plant 20').waitFor();
    await page.getByRole('button', { name: 'Previous' }).click();
    await cell(page, 'Plant 70').waitFor();
    await page.goBack();
    await cell(page, 'Plant 20').waitFor();

    await page.getByLabel('Search').fill('PLANT 11');
    await page.getByRole('status').getByText('11 plants found.', { exact: true }).waitFor();
    await cell(page, 'Plant 2').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await page.goBack();
    await cell(page, 'Plant 119').waitFor();
    assert.equal(await page.getByLabel('Search').inputValue(), 'PLANT 11');
    await page.getByLabel('Search').fill('x');
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await page.getByRole('status').getByText('No plant matches.').waitFor();
    await page.getByText('The search finds plants by the beginning of their name.').waitFor();
    await inspect(page, 'plants-none-found');
    await page.getByRole('button', { name: 'Show all plants' }).click();
    await page.getByLabel('Jump to').fill('117');
    await cell(page, 'Plant 120').waitFor();
    assert.equal(await page.locator('tbody tr').count(), 4);
    await page.getByLabel('Jump to').fill('121');
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    await page.getByLabel('Jump to').fill('oak');
    await page.getByRole('alert').getByText('An id is an integer, such as 7.').waitFor();
    await cell(page, 'Plant 1').waitFor();
    await inspect(page, 'plants-no-id');
  });
});

test('while the list is read again, a search without a match does not become an empty list', async () => {
  const token = await service.tokenFor('searcher');
  await grow('searcher', numbered(1));
  await browser.visit(service, { at: '#/plants?name=oak', token }, async (page) => {
    await page.getByRole('heading', { name: 'No plant matches' }).waitFor();
    const lists = await intercept(page, (request) => request.url().includes('/plants?'));
    await page.getByRole('button', { name: 'Show all plants' }).press('Enter');
    const list = await lists.next(1);
    assert.ok(await page.getByRole('heading', { name: 'No plant matches' }).isVisible());
    assert.ok(await page.getByRole('button', { name: 'Export CSV' }).isVisible());
    await list.continue();
    await cell(page, 'Plant 1').waitFor();
    await page.locator('h1:focus').waitFor();
  });
});

test('a search is followed though the browser refuses to change the address so often', async () => {
  const token = await service.tokenFor('fast typist');
  await grow('fast typist', numbered(20));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await cell(page, 'Plant 1').waitFor();
    await page.evaluate(`history.replaceState = () => {
      throw new DOMException('100 times per 10 seconds', 'SecurityError');
    }`);
    await page.getByLabel('Search').pressSequentially('plant 20');
    await cell(page, 'Plant 1').waitFor({ state: 'detached' });
    await cell(page, 'Plant 20').waitFor();
  });
});

test('a page that was opened by its link leads to the next and the first, but to no unknown one', async () => {
  const token = await service.tokenFor('linker');
  await grow('linker', numbered(120));
  let at = '';
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Page 2').waitFor();
    at = new URL(page.url()).hash;
  });
  await browser.visit(service, { at, token }, async (page) => {
    await page.getByText('Page 2').waitFor();
    const previous = page.getByRole('button', { name: 'Previous' });
    assert.equal(await previous.getAttribute('title'), 'You came here by a link; start at the first page.');
    await cell(page, 'Plant 51').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await cell(page, 'Plant 101').waitFor();
    await page.getByText('Page 3').waitFor();
    await previous.click();
    await cell(page, 'Plant 51').waitFor();
    await page.getByRole('button', { name: 'First' }).click();
    await cell(page, 'Plant 1').waitFor();
  });
});

test('own plants are exported as CSV, and no file is emptied before the export is complete', async () => {
  const token = await service.tokenFor('exporter');
  await grow('exporter', [...numbered(1_001), { id: 5_000, name: 'Crab, "apple"' }]);
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    // Its dialog empties the file that a person chooses.
    await page.evaluate(`window.showSaveFilePicker = async () => {
      throw new Error('A file was asked for.');
    }`);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const lines = readFileSync(await (await download).path(), 'utf8').split('\n');
    assert.deepEqual(lines.slice(0, 2), ['id,name,tag', '1,Plant 1,Tagged']);
    assert.deepEqual(lines.slice(1_001), ['1001,Plant 1001,Tagged', '5000,"Crab, ""apple""",', '']);
    await page.getByText('1,002 plants exported').waitFor();
  });
});

test('a double click on Export CSV exports, and does not stop it at once', async () => {
  const token = await service.tokenFor('double clicker');
  await grow('double clicker', numbered(1));
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await cell(page, 'Plant 1').waitFor();
    const lists = await intercept(page, (request) => /\blimit=1000\b/.test(request.url()));
    const list = lists.next(1);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).dblclick();
    await (await list).continue();
    assert.match(readFileSync(await (await download).path(), 'utf8'), /\n1,Plant 1,Tagged\n$/);
    await page.unrouteAll();
  });
});

test('an export through a proxy that ignores the query ends with a sentence, and without a file', async () => {
  const token = await service.tokenFor('proxied');
  await browser.visit(service, { at: '#/plants?name=a', token }, async (page) => {
    let downloads = 0;
    page.on('download', () => downloads++);
    const link = '</plants?cursor=x>; rel="next"';
    await page.route('**/plants?*', (route) => route.fulfill({ headers: { link }, json: [] }));
    await page.getByRole('button', { name: 'Export CSV' }).click();
    await page.getByText('A page leads to itself: does a proxy ignore the query?').waitFor();
    assert.equal(downloads, 0);
  });
});

test('a list that has not changed is not sent again: the browser asks with its tag', async () => {
  const token = await service.tokenFor('returning');
  succeeded(await service.request('POST', '/plants', { token, body: { name: 'Alder' } }), 201);
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    for (let visits = 0; visits < 2; visits++) {
      await page.getByRole('cell', { name: 'Alder', exact: true }).waitFor();
      await page.evaluate("location.hash = '#/tokens'");
      await page.getByRole('heading', { name: 'Tokens' }).first().waitFor();
      await page.evaluate("location.hash = '#/plants'");
    }
    await page.getByRole('cell', { name: 'Alder', exact: true }).waitFor();
  });
  const { value } = await scrape(service.metricsUrl ?? '');
  const unchanged = value('plant_store_http_request_duration_seconds_count', {
    route: '/plants',
    code: '304',
  });
  assert.ok(unchanged !== undefined && unchanged >= 2, `${unchanged} lists were unchanged`);
});

test('keys search, add and list themselves, but not while somebody types or has turned them off', async () => {
  const token = await service.tokenFor('typist');
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    const form = page.getByRole('dialog', { name: 'Add a plant' });
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('n?/');
    assert.equal(await page.getByLabel('Search').inputValue(), 'n?/');
    await page.getByRole('heading', { name: 'Plants', exact: true }).click();
    await page.keyboard.press('n');
    await form.waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await list.waitFor();
    await list.getByText('Search on this page').waitFor();
    await inspect(page, 'shortcuts');
    await list.getByLabel('Use these keys').uncheck();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.keyboard.press('n');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Shortcuts' }).click();
    assert.equal(await list.getByText('Search on this page').count(), 0);
  });
});

test('a message stays while the pointer is on it, even if the focus leaves it', async () => {
  const token = await service.tokenFor('slow reader');
  await browser.visit(service, { at: '#/plants', token, hasClock: true }, async (page) => {
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Alder');
    await page.keyboard.press('Enter');
    const message = page.locator('.toast');
    await message.hover();
    await message.getByRole('button', { name: 'Dismiss' }).focus();
    await page.getByLabel('Search').focus();
    await page.clock.runFor(20_000);
    assert.ok(await message.isVisible());
    await page.mouse.move(0, 0);
    await page.clock.runFor(9_000);
    await message.waitFor({ state: 'detached' });
  });
});

test('an id stays on one line where the table is narrow', async () => {
  const token = await service.tokenFor('reader of tablets');
  const name = 'A name that is long enough to take all the room that there is, and then some more of it';
  for (const id of [1, 1234]) {
    succeeded(await service.request('POST', '/plants', { token, body: { id, name, tag: name } }), 201);
  }
  await browser.visit(service, { at: '#/plants', token, width: 768 }, async (page) => {
    const ids = [page.getByText('1', { exact: true }), page.getByText('1234', { exact: true })];
    const widths = await Promise.all(ids.map((id) => id.evaluate(textWidth)));
    assert.ok((widths[1] ?? 0) > 3 * (widths[0] ?? 0), String(widths));
  });
});

test('a plant without a tag takes no line for it where the table is narrow', async () => {
  const token = await service.tokenFor('reader of phones');
  for (const body of [
    { id: 1, name: 'Alder', tag: 'Alnus' },
    { id: 2, name: 'Birch' },
  ]) {
    succeeded(await service.request('POST', '/plants', { token, body }), 201);
  }
  await browser.visit(service, { at: '#/plants', token, width: 390 }, async (page) => {
    const tags = page.locator('td[data-title="Tag"]');
    await tags.first().waitFor();
    assert.deepEqual([await tags.nth(0).isVisible(), await tags.nth(1).isVisible()], [true, false]);
  });
});

/** The width of the text itself, which is narrower than its cell; for several lines, the widest. */
function textWidth(cell: unknown): number {
  // Runs in the page, which has a document unknown to Node's types.
  const { document } = globalThis as unknown as {
    document: {
      createRange(): { selectNodeContents(node: unknown): void; getBoundingClientRect(): { width: number } };
    };
  };
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getBoundingClientRect().width;
}

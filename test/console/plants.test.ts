import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
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
    await dialog.getByText('There is no name.').waitFor();
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
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Add a plant');
    await inspect(page, 'plants-one');
  });
});

test('a taken id is reported at the id field', async () => {
  const token = await service.tokenFor('twice');
  succeeded(await service.request('POST', '/plants', { token, body: { id: 7, name: 'Alder' } }), 201);
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Birch');
    await page.getByLabel('Id').fill('7');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('You already have a plant with the id 7').waitFor();
    assert.equal(await page.getByLabel('Id').getAttribute('aria-invalid'), 'true');
  });
});

test('plants can be paged through, and deleted after confirmation', async () => {
  const token = await service.tokenFor('collector');
  for (let id = 1; id <= 60; id++) {
    succeeded(
      await service.request('POST', '/plants', { token, body: { id, name: `Plant ${id}`, tag: 'Tagged' } }),
      201,
    );
  }
  await browser.visit(service, { at: '#/plants', token }, async (page) => {
    await page.getByRole('cell', { name: 'Plant 50', exact: true }).waitFor();
    await inspect(page, 'plants');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Page 2').waitFor();
    await page.getByRole('cell', { name: 'Plant 60', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete Plant 60, plant 60' }).click();
    await page.getByRole('dialog', { name: 'Delete Plant 60?' }).waitFor();
    await inspect(page, 'plants-delete');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Plant 60 was deleted.').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('cell', { name: 'Plant 60', exact: true }).count(), 0);
    await page.getByRole('button', { name: 'First' }).click();
    await page.getByRole('cell', { name: 'Plant 1', exact: true }).waitFor();
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

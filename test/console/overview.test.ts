import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startConsole } from '../../testkit/browser/console.ts';
import { inspect } from '../../testkit/browser/inspect.ts';

const { browser, create, receiver, service } = await startConsole();

const HOUR_MS = 3_600_000;
const LONGEST_TEST_MS = 60_000;

test('a user with no data is shown where to begin', async () => {
  const token = await service.tokenFor('a beginner');
  await browser.visit(service, { token }, async (page) => {
    await page.getByRole('heading', { name: 'Nothing grows here yet' }).waitFor();
    await inspect(page, 'overview-empty');
    await page.getByRole('link', { name: 'Create a webhook' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  });
});

test('the overview shows activity and what needs attention, in numbers and charts', async () => {
  // The chart has a bar for each hour, and all plants are to be in the last one.
  const leftMs = HOUR_MS - (Date.now() % HOUR_MS);
  if (leftMs < LONGEST_TEST_MS) await pause(leftMs);
  const token = await service.tokenFor('a gardener');
  await create('/webhooks', token, { url: `${receiver.url}/good`, description: 'The shop' });
  for (let n = 0; n < 5; n++) await create('/plants', token, { name: `Alder ${n}` });
  await receiver.receive(5);
  await create('/webhooks', token, { url: 'http://127.0.0.1:9/', description: 'The broken one' });
  await create('/plants', token, { name: 'Birch' });

  await browser.visit(service, { token }, async (page) => {
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name });
    await tile('New plants').getByText('6', { exact: true }).waitFor();
    await tile('New plants').getByText('in the last 24 hours').waitFor();
    // The page follows changes.
    await page.getByText('The last attempt failed. 1 delivery is waiting.').waitFor();
    await tile('Delivered').getByText('6', { exact: true }).waitFor();
    const chart = page.getByRole('img', { name: /^New plants by hour: 6 in total/ });
    await chart.waitFor();
    const value = page.locator('.chart-value').first();
    const hour = page.getByRole('slider', { name: 'New plants by hour, hour' });
    assert.match(await value.innerText(), /^6 in total/);
    await hour.press('End');
    assert.match(await value.innerText(), /Plants: 6$/);
    await hour.press('ArrowLeft');
    assert.match(await value.innerText(), /Plants: 0$/);
    await hour.blur();
    await hour.hover({ position: { x: 1, y: 5 } });
    assert.match(await value.innerText(), /Plants: 0$/);
    assert.deepEqual(await page.locator('.chart-scale').first().innerText(), '6\n3\n0');
    await inspect(page, 'overview');

    await page.getByText('Show as a table').first().press('Enter');
    const rows = page.getByRole('table', { name: 'New plants by hour' }).getByRole('row');
    assert.equal(await rows.count(), 25);
    await inspect(page, 'overview-table');
    await page.getByRole('link', { name: 'The broken one', exact: true }).click();
    await page.waitForURL(/#\/webhooks\/wh_/);
  });
});

test('a user without access to webhooks is shown the missing scope', async () => {
  const token = await service.tokenFor('a reader of plants', { scopes: ['plants:read'] });
  await browser.visit(service, { token }, async (page) => {
    await page.getByText('webhooks:read').first().waitFor();
    await inspect(page, 'overview-without-scope');
  });
});

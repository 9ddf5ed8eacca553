import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { bodyOf, curlOf } from '../../console/src/deliveries/request.ts';
import { signIn } from '../../testkit/browser/browser.ts';
import { startConsole } from '../../testkit/browser/console.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { succeeded } from '../../testkit/service/answer.ts';

/** Longer than until a page is read again on which nothing is under way. */
const A_WHILE_MS = 11_000;

const { browser, create, receiver, service } = await startConsole({ WEBHOOK_RETRY_SCHEDULE: '0s' });

test('deliveries appear as they happen, and stand still while a person reads', async () => {
  const token = await service.tokenFor('ann');
  await create('/webhooks', token, { url: receiver.url, description: 'The shop' });
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    await inspect(page, 'deliveries-empty');
    await page.getByText('Live', { exact: true }).first().waitFor();
    await page.locator('.live-on').waitFor();
    await create('/plants', token, { name: 'Alder' });
    await page.getByRole('link', { name: 'Alder' }).waitFor();

    await page.getByLabel('Live').uncheck();
    await create('/plants', token, { name: 'Birch' });
    await page.getByRole('button', { name: 'Refresh: there may be changes' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Birch' }).count(), 0);
    await page.getByRole('button', { name: 'Refresh: there may be changes' }).click();
    await page.getByRole('link', { name: 'Birch' }).waitFor();
    await inspect(page, 'deliveries');
  });
});

test('a failed delivery shows every attempt, and can be resent', async () => {
  const token = await service.tokenFor('bob');
  receiver.usually({ status: 500, body: 'out of order' });
  await create('/webhooks', token, { url: receiver.url, description: 'The broken one' });
  await create('/plants', token, { name: 'Alder', id: 7 });
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    await page.getByRole('link', { name: 'Alder' }).click();
    await page.getByText('500', { exact: true }).waitFor();
    await page.getByText('out of order').waitFor();
    await page.getByText(String(receiver.received.at(-1)?.body), { exact: true }).waitFor();
    await page.getByRole('definition').filter({ hasText: receiver.url }).waitFor();
    await inspect(page, 'delivery-failed');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByText('Copied', { exact: true }).waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    assert.match(copied, /^curl --globoff 'http:[\s\S]+--data-raw '\{"id":7,"name":"Alder"\}'$/);
    receiver.usually({ status: 204 });
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('204', { exact: true }).waitFor();
    await page.getByRole('status').getByText('Delivered', { exact: true }).waitFor();
    await page.getByText('Delivered.', { exact: true }).waitFor();
    // Somebody may be reading it.
    assert.ok(await page.getByText('out of order').isVisible());
    const numbers = await page
      .locator('.attempts li')
      .evaluateAll((all: { value: number }[]) => all.map(({ value }) => value));
    assert.deepEqual(numbers, [2, 1]);
  });
});

test('a browser whose clock is wrong tells what became of a delivery, and counts those of the last hour', async () => {
  const token = await service.tokenFor('clockless');
  receiver.usually({ status: 500 });
  await create('/webhooks', token, { url: receiver.url });
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token, at: '#/deliveries', hasClock: true }, async (page) => {
    await page.clock.setSystemTime(Date.now() - 180_000);
    await page.getByRole('link', { name: 'Alder' }).click();
    await page.getByText('500', { exact: true }).waitFor();
    receiver.usually({ status: 204 });
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Delivered.', { exact: true }).waitFor();
    await page.clock.setSystemTime(Date.now() + 7_200_000);
    await page.getByRole('link', { name: 'View webhook' }).click();
    await page.getByText('Failure rate of the last hour: 0 %, 0 of 1 deliveries.').waitFor();
  });
});

test('what is requested of a paused or disabled webhook says when it is sent, and is followed', async () => {
  const token = await service.tokenFor('fay');
  receiver.usually({ status: 429, headers: { 'retry-after': '7200' } });
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token, at: '#/deliveries', hasClock: true }, async (page) => {
    await page.getByRole('link', { name: 'Alder' }).click();
    await page.getByText('429', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('It will be sent in 2 hours.').waitFor();
    await page.getByRole('link', { name: 'View webhook' }).click();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('The webhook is disabled. Deliveries are held.').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('It is held until the webhook is enabled.').waitFor();
    await page.getByText('Held', { exact: true }).waitFor();
    // Enabling it ends the pause.
    receiver.usually({ status: 204 });
    const body = { enabled: true };
    succeeded(await service.request('PATCH', `/webhooks/${id}`, { token, body }), 200);
    await page.clock.runFor(A_WHILE_MS);
    await page.locator('.facts').getByText('Delivered', { exact: true }).waitFor();
  });
});

test('an attempt that is due is not in the past, and what was not sent yet is not called sent', async () => {
  const token = await service.tokenFor('erin');
  await create('/webhooks', token, { url: receiver.url, description: 'The shop that sells the seeds' });
  await create('/webhooks', token, { url: receiver.url });
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    // A real delivery is due for a moment only.
    await page.route(/deliveries(?:\/evt_|\?)/, async (route) => {
      const answer = await (await route.fetch()).json();
      const nextAttemptAt = new Date(Date.now() - 120_000).toISOString();
      const due = { state: 'pending', attempts: 0, nextAttemptAt };
      const list = [{ ...answer[0], ...due, reason: 'The receiver answered 500. '.repeat(4) }];
      await route.fulfill({ json: Array.isArray(answer) ? list : { ...answer, ...due, history: [] } });
    });
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await page.getByRole('cell', { name: 'as soon as possible' }).waitFor();
    await inspect(page, 'deliveries-due');
    await page.getByRole('link', { name: 'Alder' }).click();
    await page.getByText('Next attempt').waitFor();
    const next = page.locator('dt:text("Next attempt") + dd');
    assert.equal(await next.innerText(), 'as soon as possible');
    await page.getByRole('heading', { name: 'Payload' }).waitFor();
    assert.equal(await page.getByText('What was sent').count(), 0);
  });
});

test('the curl command is one command for a shell, whatever the plant is called', () => {
  const plant = { id: 9_007_199_254_740_993n, name: `'; touch /tmp/x; "$(id)" \`id\` \\ !!\n🌱`, tag: '@' };
  const delivery = { event: 'evt_1', plant };
  const url = `https://example.com/a[1]?b='$HOME'&c`;
  const print = `curl() { printf '%s\\0' "$@"; }; ${curlOf(url, delivery)}`;
  const words = execFileSync('sh', ['-c', print], { encoding: 'utf8' }).split('\0').slice(0, -1);
  const headers = ['-H', 'content-type: application/json', '-H', 'webhook-id: evt_1'];
  assert.deepEqual(words, ['--globoff', url, ...headers, '--data-raw', bodyOf(delivery)]);
  assert.match(bodyOf(delivery), /^\{"id":9007199254740993,"name":"'/);
});

test('one list has the deliveries of all webhooks, opens on what failed, and can be filtered', async () => {
  const token = await service.tokenFor('dora');
  receiver.usually({ status: 204 });
  await create('/webhooks', token, { url: receiver.url, description: 'The shop' });
  await create('/webhooks', token, { url: 'http://127.0.0.1:9/hook', description: 'The calendar' });
  await create('/plants', token, { name: 'Alder', id: 1 });
  await create('/plants', token, { name: 'Birch', id: 2 });
  await untilFailed(token, 2);
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    const rows = page.locator('tbody tr');
    const state = page.getByLabel('State');
    await rows.nth(1).waitFor();
    assert.deepEqual(await texts(page, 'Webhook'), ['The calendar', 'The calendar']);
    assert.equal(await state.inputValue(), 'failed');
    await inspect(page, 'deliveries-all-failed');

    await state.selectOption('All');
    await rows.nth(3).waitFor();
    assert.deepEqual((await texts(page, 'Plant')).sort(), ['Alder', 'Alder', 'Birch', 'Birch']);
    await inspect(page, 'deliveries-all');
    await page.getByLabel('Plant id').fill('2');
    await rows.nth(2).waitFor({ state: 'detached' });
    assert.deepEqual(await texts(page, 'Plant'), ['Birch', 'Birch']);
    await page.getByLabel('Webhook').selectOption('The shop');
    await page.getByRole('columnheader', { name: 'Webhook' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'View webhook' }).waitFor();

    await page.getByRole('button', { name: 'Choose times' }).click();
    await page.getByLabel('From').fill('2000-01-01T00:00');
    await page.getByLabel('Until').fill('2000-01-02T00:00');
    await page.getByRole('heading', { name: 'No delivery matches' }).waitFor();
    await page.getByRole('status').getByText('No delivery matches.').waitFor();
    assert.match(page.url(), /since=2000-01-01T00%3A00&until=2000-01-02T00%3A00$/);
    await inspect(page, 'deliveries-none-match');
    await page.getByRole('link', { name: 'Show all deliveries' }).click();
    await rows.nth(3).waitFor();

    await page.getByRole('button', { name: 'Any time' }).click();
    await page.getByLabel('From').waitFor({ state: 'detached' });
    await page.goBack();
    assert.equal(await page.getByLabel('From').inputValue(), '2000-01-01T00:00');
    await page.getByLabel('From').fill('');
    await page.getByLabel('Until').fill('');
    assert.ok(await page.getByLabel('From').isVisible());
  });
});

test('a later page stays the same list when the first would open on another state', async () => {
  const token = await service.tokenFor('returner');
  receiver.usually({ status: 204 });
  await create('/webhooks', token, { url: receiver.url });
  for (let plant = 1; plant <= 51; plant++) await create('/plants', token, { name: `Plant ${plant}` });
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    const oldest = page.getByRole('link', { name: 'Plant 1', exact: true });
    await page.getByRole('button', { name: 'Next' }).click();
    await oldest.waitFor();
    await create('/webhooks', token, { url: 'http://127.0.0.1:9/hook' });
    await create('/plants', token, { name: 'Late' });
    await untilFailed(token, 1);
    await page.reload();
    await signIn(page, token);
    await oldest.waitFor();
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await page.getByRole('link', { name: 'Late', exact: true }).waitFor();
    assert.equal(await page.getByLabel('State').inputValue(), 'failed');
  });
});

/** The links of a column. */
function texts(page: Page, column: string): Promise<string[]> {
  return page.locator(`td[data-title="${column}"] a`).allInnerTexts();
}

async function untilFailed(token: string, count: number): Promise<void> {
  for (let failed = 0; failed < count; ) {
    const { text } = await service.request('GET', '/deliveries?state=failed', { token });
    failed = JSON.parse(text).length;
  }
}

test('the deliveries of a plant are all of them, whatever fails, and lead from the list of plants', async () => {
  const token = await service.tokenFor('gil');
  receiver.usually({ status: 500 });
  await create('/webhooks', token, { url: receiver.url });
  await create('/plants', token, { name: 'Alder', id: 1 });
  await create('/plants', token, { name: 'Birch', id: 12 });
  await untilFailed(token, 2);
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    const state = page.getByLabel('State');
    const rows = page.locator('tbody tr');
    await rows.nth(1).waitFor();
    assert.equal(await state.inputValue(), 'failed');
    await page.getByLabel('Plant id').fill('12');
    await rows.nth(1).waitFor({ state: 'detached' });
    assert.equal(await state.inputValue(), 'all');
    assert.equal(await page.locator('td.name').innerText(), 'Birch\n12');

    await page.getByLabel('Plant id').fill('twelve');
    await page.getByRole('alert').getByText('An id is an integer, such as 7.').waitFor();
    await rows.nth(1).waitFor();
    // The most controls that the error can lie on.
    await page.getByRole('button', { name: 'Choose times' }).click();
    await inspect(page, 'deliveries-no-id');

    await page.getByRole('link', { name: 'Plants' }).click();
    await page.getByRole('link', { name: 'Deliveries of Alder, plant 1' }).click();
    await page.waitForURL(/#\/deliveries\?state=all&plant=1$/);
    await page.getByRole('link', { name: 'Alder' }).waitFor();
  });
  const reader = await service.tokenFor('gil', { scopes: ['plants:read', 'plants:write'] });
  await browser.visit(service, { token: reader, at: '#/plants' }, async (page) => {
    await page.getByRole('button', { name: 'Delete Alder, plant 1' }).waitFor();
    assert.equal(await page.getByRole('link', { name: /^Deliveries of/ }).count(), 0);
  });
});

test('without a webhook the deliveries page links to where to create one, and follows when there is one', async () => {
  const token = await service.tokenFor('carl');
  await browser.visit(service, { token, at: '#/deliveries', hasClock: true }, async (page) => {
    await page.getByRole('link', { name: 'Create a webhook' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await create('/webhooks', token, { url: 'http://127.0.0.1:9/hook' });
    await page.clock.runFor(A_WHILE_MS);
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    await create('/plants', token, { name: 'Alder' });
    await untilFailed(token, 1);
    await create('/webhooks', token, { url: receiver.url, description: 'The shop' });
    await page.clock.runFor(A_WHILE_MS);
    await page.getByRole('option', { name: 'The shop' }).waitFor({ state: 'attached' });
    // It would open on what failed, but somebody may be reading.
    assert.equal(await page.getByLabel('State').inputValue(), 'all');
  });
});

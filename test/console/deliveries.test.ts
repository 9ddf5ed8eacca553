import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { bodyOf, curlOf } from '../../console/src/deliveries/request.ts';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';

const receiver = await startReceiver();
const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s' });
const browser = await startBrowser();
after(async () => {
  await browser.stop();
  await service.stop();
  await receiver.stop();
});

async function create(path: string, token: string, body: unknown): Promise<void> {
  succeeded(await service.request('POST', path, { token, body }), 201);
}

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
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Birch' }).count(), 0);
    await page.getByRole('button', { name: 'Show 1 new' }).click();
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
    await page.getByLabel('State').selectOption('failed');
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
    await page.getByText('Delivered', { exact: true }).waitFor();
    const numbers = await page
      .locator('.attempts li')
      .evaluateAll((all: { value: number }[]) => all.map(({ value }) => value));
    assert.deepEqual(numbers, [2, 1]);
  });
});

test('an attempt that is due is not in the past, and what was not sent yet is not called sent', async () => {
  const token = await service.tokenFor('dora');
  await create('/webhooks', token, { url: receiver.url });
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    // A real delivery is due for a moment only.
    await page.route(/deliveries\/evt_/, async (route) => {
      const response = await route.fetch();
      const nextAttemptAt = new Date(Date.now() - 120_000).toISOString();
      const due = { state: 'pending', attempts: 0, history: [], nextAttemptAt };
      await route.fulfill({ json: { ...(await response.json()), ...due } });
    });
    await page.getByRole('link', { name: 'Alder' }).click();
    await page.getByText('Next attempt').waitFor();
    assert.equal(await page.locator('dt:text("Next attempt") + dd').innerText(), 'now');
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

test('without a webhook the deliveries page links to where to create one', async () => {
  const token = await service.tokenFor('carl');
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    await page.getByRole('link', { name: 'Create a webhook' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  });
});

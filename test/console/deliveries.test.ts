import assert from 'node:assert/strict';
import { after, test } from 'node:test';
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
    await page.getByText('The response began with').click();
    await page.getByText('out of order').waitFor();
    await inspect(page, 'delivery-failed');
    receiver.usually({ status: 204 });
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('204', { exact: true }).waitFor();
    await page.getByText('Delivered', { exact: true }).waitFor();
    assert.equal(await page.locator('.attempts li').count(), 2);
  });
});

test('without a webhook the deliveries page links to where to create one', async () => {
  const token = await service.tokenFor('carl');
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    await page.getByRole('link', { name: 'Create a webhook' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  });
});

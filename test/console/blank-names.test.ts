import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTitled } from '../../testkit/browser/browser.ts';
import { startConsole } from '../../testkit/browser/console.ts';

const { browser, create, receiver, service } = await startConsole({ WEBHOOK_RETRY_SCHEDULE: '0s' });

for (const [user, description] of [
  ['ann', ''],
  ['bob', '   '],
  ['carl', '\u00a0'],
  ['eva', '\u200b\u2060'],
] as const) {
  test(`a webhook is called by its URL where its description is ${JSON.stringify(description)}`, async () => {
    const token = await service.tokenFor(user);
    const url = `${receiver.url}/shop`;
    receiver.usually({ status: 500 });
    const { id } = await create('/webhooks', token, { url, description });
    await create('/webhooks', token, { url: `${receiver.url}/other`, description: 'Other' });
    await create('/plants', token, { name: 'Alder' });
    await receiver.receive(2);
    await browser.visit(service, { token }, async (page) => {
      const link = page.getByRole('link', { name: url, exact: true });
      await page.locator('.attention').getByRole('link', { name: url, exact: true }).waitFor();
      await page.getByRole('link', { name: 'Deliveries', exact: true }).first().click();
      await link.waitFor();
      await page.getByLabel('Webhook').selectOption(url);
      await page.getByRole('link', { name: 'Webhooks' }).click();
      await link.waitFor();
      assert.equal(await page.getByText(url, { exact: true }).count(), 1);
      await link.click();
      await page.getByRole('heading', { name: url, level: 1 }).waitFor();
      await untilTitled(page, `${url} · Plant Store`);
      assert.equal(await page.locator('.lead').count(), 0);
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Description').fill('  ');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The webhook was saved.').waitFor();
    });
    const { text } = await service.request('GET', `/webhooks/${id}`, { token });
    assert.equal(JSON.parse(text).description, undefined);
  });
}

test('a token is called by its id where its label is blank', async () => {
  const token = await service.tokenFor('dora');
  const { id } = await create('/tokens', token, { label: ' \u200b', scopes: ['plants:read'] });
  await browser.visit(service, { token, at: '#/tokens' }, async (page) => {
    await page.getByRole('button', { name: `Revoke ${id}` }).waitFor();
    const row = page.getByRole('row').filter({ hasText: id });
    assert.equal(await row.locator('.clamped').innerText(), 'No label');
  });
});

test('a delivery of a plant whose name shows nothing can be opened', async () => {
  const token = await service.tokenFor('finn');
  await create('/webhooks', token, { url: receiver.url });
  await create('/plants', token, { name: '\u200b' });
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    await page.getByRole('link', { name: 'Plant 1', exact: true }).click();
    await page.getByRole('heading', { name: 'Plant 1', level: 1 }).waitFor();
  });
});

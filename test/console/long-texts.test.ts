import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConsole } from '../../testkit/browser/console.ts';
import { inspectNarrow } from '../../testkit/browser/inspect.ts';

const { browser, create, receiver, service } = await startConsole();

const LONG = 'W'.repeat(255);

test('the longest names, descriptions and URLs stay within a narrow page', async () => {
  const user = 'L'.repeat(60);
  const token = await service.tokenFor(user);
  receiver.usually({ status: 500, body: LONG });
  const { id } = await create('/webhooks', token, { url: `${receiver.url}/${'x'.repeat(1_900)}` });
  const described = await create('/webhooks', token, { url: receiver.url, description: LONG });
  await create('/plants', token, { id: Number.MIN_SAFE_INTEGER, name: LONG, tag: LONG });
  await receiver.receive(2);
  await browser.visit(service, { token, width: 360 }, async (page) => {
    const heading = (level: number) => page.getByRole('heading', { level }).first();
    await page.locator('.attention li').nth(1).waitFor();
    await inspectNarrow(page, 'long-overview');
    assert.equal(await page.locator('.user').getAttribute('title'), `You are signed in as ${user}`);
    for (const [at, name] of [
      ['/plants', 'long-plants'],
      ['/webhooks', 'long-webhooks'],
      [`/deliveries?webhook=${described.id}`, 'long-deliveries'],
    ]) {
      await page.evaluate(`location.hash = '#${at}'`);
      await page
        .locator('tbody')
        .getByText(/W{255}/)
        .first()
        .waitFor();
      await inspectNarrow(page, `${name}`);
    }
    await page.locator('tbody a').click();
    await page.getByText('The response began with').first().click();
    await inspectNarrow(page, 'long-delivery');
    for (const [webhook, name] of [
      [id, 'long-webhook'],
      [described.id, 'long-webhook-described'],
    ]) {
      await page.evaluate(`location.hash = '#/webhooks/${webhook}'`);
      await page.getByRole('button', { name: 'Delete' }).waitFor();
      await inspectNarrow(page, `${name}`);
      await page.getByRole('button', { name: 'Delete' }).click();
      await heading(2).waitFor();
      await inspectNarrow(page, `${name}-delete`);
      await page.keyboard.press('Escape');
    }
    await page.evaluate(`location.hash = '#/plants'`);
    await page.getByRole('button', { name: /^Delete W/ }).click();
    await page.getByRole('dialog').waitFor();
    await inspectNarrow(page, 'long-plant-delete');
  });
});

test('a list of webhooks gives a long URL a few lines', async () => {
  const token = await service.tokenFor('lines');
  await create('/webhooks', token, {
    url: `${receiver.url}/${'x'.repeat(1_900)}`,
    description: 'The garden',
  });
  await browser.visit(service, { token, at: '#/webhooks', width: 360 }, async (page) => {
    await page.getByRole('link', { name: 'The garden' }).waitFor();
    const lines = await page.evaluate(`(() => {
      const url = document.querySelector('.url');
      return Math.round(url.clientHeight / parseFloat(getComputedStyle(url).lineHeight));
    })()`);
    assert.equal(lines, 3);
  });
});

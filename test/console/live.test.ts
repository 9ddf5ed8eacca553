import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startConsole } from '../../testkit/browser/console.ts';
import { intercept } from '../../testkit/browser/intercept.ts';

const { browser, create, receiver, service } = await startConsole();

async function tokenWithWebhook(user: string): Promise<string> {
  const token = await service.tokenFor(user);
  await create('/webhooks', token, { url: receiver.url, description: 'The shop' });
  return token;
}

/** Simulates switching tabs, which a headless browser never does itself. */
function setHidden(page: Page, isHidden: boolean): Promise<unknown> {
  return page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
}

test('a hidden tab holds no connection, and catches up when it is shown again', async () => {
  const token = await tokenWithWebhook('ann');
  await browser.visit(service, { token, at: '#/deliveries', mayLoseConnection: true }, async (page) => {
    await page.locator('.live-on').waitFor();
    const isLetGo = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/events/stream'));
    await setHidden(page, true);
    await isLetGo;
    await create('/plants', token, { name: 'Alder' });
    assert.equal(await page.getByRole('link', { name: 'Alder' }).count(), 0);
    await setHidden(page, false);
    await page.getByRole('link', { name: 'Alder' }).waitFor();
    await page.locator('.live-on').waitFor();
  });
});

test('an eighth tab works like the first', async () => {
  const token = await tokenWithWebhook('many tabs');
  await browser.visit(service, { token, at: '#/deliveries', mayLoseConnection: true }, async (page) => {
    await page.locator('.live-on').waitFor();
    for (let tab = 2; tab <= 8; tab++) {
      for (const other of page.context().pages()) await setHidden(other, true);
      const next = await page.context().newPage();
      await next.goto(`${service.url}/console/#/deliveries`);
      await next.getByLabel('Token', { exact: true }).fill(token);
      await next.getByRole('button', { name: 'Sign in' }).click();
      await next.locator('.live-on').waitFor();
    }
  });
});

test('a stream that was briefly refused resumes', async () => {
  const token = await tokenWithWebhook('bob');
  await browser.visit(service, { token, at: '#/plants', hasClock: true }, async (page) => {
    let tries = 0;
    await page.route('**/events/stream', (route) => {
      tries += 1;
      return tries === 1 ? route.fulfill({ status: 404, body: 'no such page' }) : route.continue();
    });
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page
      .getByText(/^The live connection is lost; reconnecting\. Meanwhile the list refreshes/)
      .waitFor();
    await page.clock.runFor(6_000);
    await page.locator('.live-on').waitFor();
    assert.equal(tries, 2);
  });
});

test('a stream that is refused for too many streams shows no rate limit', async () => {
  const token = await tokenWithWebhook('many streams');
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token, at: '#/plants', hasClock: true }, async (page) => {
    const streams = await intercept(page, (request) => request.url().endsWith('/events/stream'));
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    const stream = await streams.next(1);
    await page.getByRole('link', { name: 'Alder' }).waitFor();
    const json = { error: 42900, message: 'You have 32 event streams.' };
    await stream.fulfill({ status: 429, json });
    await page.unrouteAll();
    await page.getByText(/^The live connection is lost; reconnecting\./).waitFor();
    assert.equal(await page.getByText('limits how often').count(), 0);

    // The stream that opens later begins after this plant.
    await page.getByLabel('Live').uncheck();
    await create('/plants', token, { name: 'Birch' });
    await page.clock.runFor(6_000);
    await page.getByRole('button', { name: 'Refresh: there may be changes' }).waitFor();
  });
});

test('with a filter that may exclude them, changes are only said to be possible', async () => {
  const token = await tokenWithWebhook('carl');
  await browser.visit(service, { token, at: '#/deliveries?state=failed' }, async (page) => {
    await page.locator('.live-on').waitFor();
    await page.getByLabel('Live').uncheck();
    await create('/plants', token, { name: 'Alder' });
    await page.getByRole('button', { name: 'Refresh: there may be changes' }).click();
    await page.getByRole('heading', { name: 'No delivery matches' }).waitFor();
    await page.getByRole('button', { name: 'Refresh' }).waitFor({ state: 'detached' });
  });
});

test('changes while the page was not live are shown as soon as it is again', async () => {
  const token = await tokenWithWebhook('dora');
  await browser.visit(service, { token, at: '#/deliveries', hasClock: true }, async (page) => {
    await page.locator('.live-on').waitFor();
    await page.getByLabel('Live').uncheck();
    await create('/plants', token, { name: 'Alder' });
    await page.getByRole('button', { name: 'Refresh' }).waitFor();
    await page.getByLabel('Live').check();
    await page.getByRole('link', { name: 'Alder' }).waitFor();
    await page.getByLabel('Live').uncheck();
    assert.equal(await page.getByRole('button', { name: 'Refresh' }).count(), 0);
  });
});

test('a link to the deliveries of a deleted webhook shows no other webhook', async () => {
  const token = await tokenWithWebhook('eva');
  await browser.visit(service, { token, at: '#/deliveries?webhook=wh_gone' }, async (page) => {
    await page.getByRole('heading', { name: 'This webhook does not exist' }).waitFor();
    await page.getByRole('link', { name: 'Deliveries of all webhooks' }).click();
    await page.getByLabel('Webhook').waitFor();
  });
});

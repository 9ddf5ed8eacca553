import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page, Request, Route } from 'playwright-core';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';

const receiver = await startReceiver();
const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
const browser = await startBrowser();
after(async () => {
  await browser.stop();
  await service.stop();
  await receiver.stop();
});

/** Longer than the polling interval of a webhook's page. */
const A_WHILE_MS = 6_000;

async function create(path: string, token: string, body: unknown): Promise<{ id: string }> {
  // A webhook's answer has an id; callers that create plants do not use it.
  return succeeded(await service.request('POST', path, { token, body }), 201) as { id: string };
}

const change = (token: string, id: string, body: unknown) =>
  service.request('PATCH', `/webhooks/${id}`, { token, body });

/** Holds the requests that match, in order, and lets the test answer them. */
async function intercept(page: Page, is: (request: Request) => boolean) {
  const routes: Route[] = [];
  let arrived = Promise.withResolvers<void>();
  await page.route('**', (route) => {
    if (!is(route.request())) return route.fallback();
    routes.push(route);
    arrived.resolve();
    arrived = Promise.withResolvers<void>();
  });
  return {
    routes,
    async next(count: number): Promise<Route> {
      while (routes.length < count) await arrived.promise;
      const route = routes[count - 1];
      assert.ok(route);
      return route;
    },
  };
}

const readsWebhook = (id: string) => (request: Request) =>
  request.method() === 'GET' && request.url().endsWith(`/webhooks/${id}`);

test('an answer that takes longer than a second arrives: the page does not ask again meanwhile', async () => {
  const token = await service.tokenFor('slow');
  const { id } = await create('/webhooks', token, { url: receiver.url, description: 'Before' });
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await page.getByRole('heading', { name: 'Before' }).waitFor();
    const reads = await intercept(page, readsWebhook(id));
    await change(token, id, { description: 'Behind' });
    await page.clock.runFor(A_WHILE_MS);
    const held = await reads.next(1);
    await page.clock.runFor(A_WHILE_MS);
    await held.continue();
    await page.getByRole('heading', { name: 'Behind' }).waitFor();
    assert.equal(reads.routes.length, 1);
  });
});

test('while reloading fails, the page says so, keeps its content, and asks no more often than before', async () => {
  const token = await service.tokenFor('failing');
  const { id } = await create('/webhooks', token, { url: receiver.url, description: 'The shop' });
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await page.getByRole('heading', { name: 'The shop' }).waitFor();
    const reads = await intercept(page, readsWebhook(id));
    const fault = { status: 500, json: { error: 50000, message: 'A fault of the service.' } };
    await page.clock.runFor(A_WHILE_MS);
    await (await reads.next(1)).fulfill(fault);
    await page.getByText(/^This is from .* A fault of the service\.$/).waitFor();
    await page.clock.runFor(A_WHILE_MS / 2);
    assert.equal(reads.routes.length, 1);
    await page.clock.runFor(A_WHILE_MS);
    await (await reads.next(2)).continue();
    await page.getByText('This is from').waitFor({ state: 'detached' });
  });
});

test('deliveries appear while plants are added without a pause', async () => {
  const token = await service.tokenFor('burst');
  await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: '#/deliveries' }, async (page) => {
    await page.locator('.live-on').waitFor();
    await page.route(
      '**/deliveries?*',
      (route) => void setTimeout(() => void route.continue().catch(() => {}), 600),
    );
    const first = page.getByRole('link', { name: 'Plant 0', exact: true });
    for (let n = 0; !(await first.isVisible()); n++) {
      assert.ok(n < 200, 'nothing was shown while 200 plants were added');
      await create('/plants', token, { name: `Plant ${n}` });
      await page.waitForTimeout(50);
    }
  });
});

test('an outdated answer does not show a disabled webhook as enabled', async () => {
  const token = await service.tokenFor('switch');
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    const reads = await intercept(page, readsWebhook(id));
    await page.clock.runFor(A_WHILE_MS);
    const held = await reads.next(1);
    const before = await held.fetch();
    const end = Promise.race([
      page.waitForEvent('requestfailed', readsWebhook(id)).then(() => 'dropped'),
      page.waitForEvent('requestfinished', readsWebhook(id)).then(() => 'taken'),
    ]);
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    // The page may no longer wait for it.
    await held.fulfill({ response: before }).catch(() => {});
    assert.equal(await end, 'dropped');
    assert.equal(await page.getByRole('button', { name: 'Disable' }).count(), 0);
  });
});

test('a change leaves fields alone that others changed meanwhile', async () => {
  const token = await service.tokenFor('two of us');
  const { id } = await create('/webhooks', token, { url: `${receiver.url}/old` });
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await page.getByRole('button', { name: 'Edit' }).click();
    await change(token, id, { url: `${receiver.url}/new` });
    await page.clock.runFor(A_WHILE_MS);
    await page.locator('dd', { hasText: '/new' }).waitFor();
    await page.getByLabel('Rate').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('at most 7 a second').waitFor();
    assert.equal(await page.locator('dd', { hasText: '/new' }).count(), 1);
  });
});

test('a webhook deleted meanwhile loses its buttons', async () => {
  const token = await service.tokenFor('late');
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await page.getByRole('button', { name: 'Rotate the secret' }).waitFor();
    await service.request('DELETE', `/webhooks/${id}`, { token });
    await page.clock.runFor(A_WHILE_MS);
    await page.getByText('You have no webhook with this id.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Rotate the secret' }).count(), 0);
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Webhook');
  });
});

test('a user who navigates while a test is sent stays there', async () => {
  const token = await service.tokenFor('hasty');
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    const tests = await intercept(page, (request) => request.url().endsWith('/test'));
    await page.getByRole('button', { name: 'Send a test' }).click();
    const held = await tests.next(1);
    await page.getByRole('link', { name: 'Plants' }).click();
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
    await held.continue();
    await page.getByText('A test was requested. It is sent next.').waitFor();
    assert.match(page.url(), /#\/plants$/);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'Test event' }).waitFor();
  });
});

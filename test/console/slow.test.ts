import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from 'playwright-core';
import { startConsole } from '../../testkit/browser/console.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { eventually } from '../../testkit/service/eventually.ts';

const { browser, create, receiver, service } = await startConsole();

/** Longer than the polling interval of a webhook's page. */
const A_WHILE_MS = 6_000;

const change = (token: string, id: string, body: unknown) =>
  service.request('PATCH', `/webhooks/${id}`, { token, body });

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

test('a page that reloads by itself is dimmed only if that takes long', async () => {
  const token = await service.tokenFor('reader');
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    const reads = await intercept(page, readsWebhook(id));
    await page.evaluate(`
      window.seen = [];
      new MutationObserver(([{ target }]) => seen.push(getComputedStyle(target).opacity))
        .observe(document.querySelector('.loaded'), { attributeFilter: ['aria-busy'] });
    `);
    await page.clock.runFor(A_WHILE_MS);
    const held = await reads.next(1);
    assert.deepEqual(await page.evaluate('seen'), ['1']);
    await eventually(
      'dimmed page',
      async () =>
        (await page.evaluate(`getComputedStyle(document.querySelector('.loaded')).opacity`)) === '0.6' ||
        undefined,
    );
    await held.continue();
    await page.locator('.loaded[aria-busy="false"]').first().waitFor();
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
    await page.clock.runFor(1_000);
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

test('Enter held on Disable disables, and does not enable at once', async () => {
  const token = await service.tokenFor('heavy hand');
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    const changes = await intercept(page, (request) => request.method() === 'PATCH');
    await page.getByRole('button', { name: 'Disable' }).focus();
    await page.keyboard.down('Enter');
    await (await changes.next(1)).continue();
    const enable = page.getByRole('button', { name: 'Enable' });
    await enable.waitFor();
    await page.keyboard.down('Enter');
    assert.equal(await enable.getAttribute('aria-busy'), 'false');
    assert.equal(changes.routes.length, 1);
    await page.keyboard.up('Enter');
    await page.keyboard.down('Enter');
    await (await changes.next(2)).continue();
    await page.getByRole('button', { name: 'Disable' }).waitFor();
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
    await page.getByRole('heading', { name: 'This webhook does not exist' }).waitFor();
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
    await page.getByText('A test was requested. It will be sent next.').waitFor();
    assert.match(page.url(), /#\/plants$/);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'Test event' }).waitFor();
  });
});

test('a failure is told by a message when its question or its form was left by Back', async () => {
  const token = await service.tokenFor('leaver');
  await create('/tokens', token, { label: 'reader', scopes: ['plants:read'] });
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    const fault = (message: string) => ({ status: 500, json: { error: 50000, message } });
    const untilTold = (message: string) => page.locator('.toast').getByText(message).waitFor();
    const dialog = page.getByRole('dialog');
    await page.getByRole('link', { name: 'Tokens' }).click();
    const changes = await intercept(page, (request) => request.method() !== 'GET');
    await page.getByRole('button', { name: 'Revoke reader' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    const revocation = await changes.next(1);
    await page.goBack();
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    await revocation.fulfill(fault('A fault of the token.'));
    await untilTold('A fault of the token.');

    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Alder');
    await page.keyboard.press('Enter');
    const creation = await changes.next(2);
    await page.goForward();
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    await creation.fulfill(fault('A fault of the plant.'));
    await untilTold('A fault of the plant.');
  });
});

test('a test that is answered late does not close the dialog that shows a secret', async () => {
  const token = await service.tokenFor('busy');
  const { id } = await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    const tests = await intercept(page, (request) => request.url().endsWith('/test'));
    await page.getByRole('button', { name: 'Send a test' }).click();
    const held = await tests.next(1);
    await page.getByRole('button', { name: 'Rotate the secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('The old one keeps working for').selectOption('no time: the old one has leaked');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await dialog.getByText('The old one no longer signs.').waitFor();
    await held.continue();
    await page.getByText('A test was requested. It will be sent next.').waitFor();
    assert.ok(await dialog.getByRole('heading', { name: 'The new secret' }).isVisible());
    assert.match(page.url(), /#\/webhooks\/wh_/);
  });
});

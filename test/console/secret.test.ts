import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startConsole } from '../../testkit/browser/console.ts';
import { inspectNarrow } from '../../testkit/browser/inspect.ts';
import { revoke } from './revoke.ts';

const { browser, receiver, service } = await startConsole();

/** Creates a webhook, and returns its secret from the dialog. */
async function makeWebhook(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Create a webhook' }).click();
  await page.getByLabel('URL').fill(receiver.url);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'The webhook is ready' }).waitFor();
  return shownSecret(page);
}

function shownSecret(page: Page): Promise<string> {
  return page.getByRole('dialog').locator('.secret-value code').first().innerText();
}

test('Escape, however often, does not hide the secret', async () => {
  const token = await service.tokenFor('ann');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    const secret = await makeWebhook(page);
    for (let n = 0; n < 4; n++) await page.keyboard.press('Escape');
    assert.equal(await shownSecret(page), secret);
    await page.getByLabel('I saved the secret').check();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create a webhook' }).click();
    await page.getByRole('dialog', { name: 'Create a webhook' }).waitFor();
  });
});

test('if a browser closes the dialog anyway, it opens again', async () => {
  const token = await service.tokenFor('bob');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    const secret = await makeWebhook(page);
    await page.evaluate(`document.querySelector('dialog').close()`);
    await page.locator('dialog:modal').waitFor();
    assert.equal(await shownSecret(page), secret);
  });
});

test("the browser's Back does nothing while the secret is shown, and works once it is kept", async () => {
  const token = await service.tokenFor('carl');
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    await page.getByRole('link', { name: 'Webhooks' }).click();
    const secret = await makeWebhook(page);
    await page.goBack();
    await page.waitForURL(/#\/webhooks$/);
    assert.equal(await shownSecret(page), secret);
    await page.getByLabel('I saved the secret').check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
  });
});

test('the browser asks before a reload loses the secret', async () => {
  const token = await service.tokenFor('dora');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    const secret = await makeWebhook(page);
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload())');
    const question = await asked;
    assert.equal(question.type(), 'beforeunload');
    await question.dismiss();
    assert.equal(await shownSecret(page), secret);
  });
});

test('in a browser that does not let pages copy, the dialog says so', async () => {
  const token = await service.tokenFor('finn');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    // As over plain http to another machine.
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`);
    await makeWebhook(page);
    await page.getByRole('button', { name: 'Copy secret' }).click();
    await page.getByRole('dialog').getByText('Select it and copy it yourself').waitFor();
    await inspectNarrow(page, 'webhook-secret-not-copied');
  });
});

test('a token revoked while the secret is shown leads to the sign-in only once the secret is kept', async () => {
  const token = await service.tokenFor('eva');
  await browser.visit(service, { token, at: '#/webhooks', hasClock: true }, async (page) => {
    const secret = await makeWebhook(page);
    await revoke(service, token);
    const isRefused = page.waitForResponse((response) => response.status() === 401);
    await page.clock.runFor(11_000);
    await isRefused;
    await page.getByText(/^This is from/).waitFor({ state: 'attached' });
    assert.equal(await shownSecret(page), secret);
    await page.getByLabel('I saved the secret').check();
    await page.clock.runFor(11_000);
    await page.getByText('The service no longer accepts the token').waitFor();
  });
});

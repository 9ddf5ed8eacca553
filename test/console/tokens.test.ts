import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';

const service = await startService();
const browser = await startBrowser();
after(async () => {
  await browser.stop();
  await service.stop();
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true });
const shown = (page: Page) => page.getByRole('dialog').locator('.secret-value code').innerText();
const statusOf = async (token: string) => (await service.request('GET', '/plants', { token })).status;

async function made(token: string, body: object): Promise<{ id: string; token: string }> {
  // The shape that the document gives it.
  return succeeded(await service.request('POST', '/tokens', { token, body }), 201) as {
    id: string;
    token: string;
  };
}

test('a token is created by keyboard alone, and shown once', async () => {
  const token = await service.tokenFor('ann');
  await browser.visit(service, { token, at: '#/tokens' }, async (page) => {
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    await inspect(page, 'tokens');
    await button(page, 'Create a token').press('Enter');
    await page.keyboard.type('nightly import');
    await page.keyboard.press('Enter');
    await page.getByText('Choose what the token may do.').waitFor();
    assert.equal(await page.evaluate('document.activeElement.type'), 'checkbox');
    await inspect(page, 'token-create-wrong');
    await page.getByLabel('Create and delete plants').press('Space');
    await page.getByLabel('List plants').press('Space');
    await page.getByLabel('Expires').selectOption('In 90 days');
    await inDialog(page, 'Create').press('Enter');

    await page.getByRole('heading', { name: 'The token is ready' }).waitFor();
    const created = await shown(page);
    assert.match(created, /^pst_/);
    await inspect(page, 'token-shown');
    await page.keyboard.press('Escape');
    assert.equal(await shown(page), created);
    await page.getByLabel('I saved the token').press('Space');
    await button(page, 'Done').press('Enter');

    const row = page.getByRole('row', { name: 'nightly import' });
    await row.getByText('plants:write').waitFor();
    assert.ok(!(await page.content()).includes(created));
    assert.equal(await statusOf(created), 200);
    const me = await service.request('GET', '/me', { token: created });
    assert.deepEqual(JSON.parse(me.text).scopes, ['plants:read', 'plants:write']);
  });
});

test('a token is rotated and revoked', async () => {
  const token = await service.tokenFor('bob');
  const old = await made(token, { label: 'reader', scopes: ['plants:read'] });
  await browser.visit(service, { token, at: '#/tokens' }, async (page) => {
    await button(page, 'Rotate reader').click();
    await inspect(page, 'token-rotate');
    await page.getByLabel('The old one keeps working for').selectOption('no time: the old one has leaked');
    await inDialog(page, 'Rotate').click();
    await page.getByRole('heading', { name: 'The new token' }).waitFor();
    const next = await shown(page);
    assert.deepEqual([await statusOf(old.token), await statusOf(next)], [401, 200]);
    await page.getByLabel('I saved the token').check();
    await button(page, 'Done').click();

    await button(page, 'Revoke reader').click();
    await inspect(page, 'token-revoke');
    await inDialog(page, 'Revoke').click();
    await page.getByText('The token was revoked.').waitFor();
    await button(page, 'Revoke reader').waitFor({ state: 'detached' });
    // The button that had the focus is gone.
    await page.locator('h1:focus').waitFor();
    assert.equal(await statusOf(next), 401);
  });
});

test('who revokes the token that they signed in with is signed out', async () => {
  const token = await service.tokenFor('carl');
  const own = await made(token, { label: 'own' });
  await browser.visit(service, { token: own.token, at: '#/tokens' }, async (page) => {
    await button(page, 'Revoke own').click();
    await inDialog(page, 'Revoke').click();
    await page.getByText('The service no longer accepts the token').waitFor();
  });
});

test('a token offers no more than it may do itself', async () => {
  const token = await service.tokenFor('dora', { scopes: ['plants:read', 'tokens:read', 'tokens:write'] });
  await browser.visit(service, { token, at: '#/tokens' }, async (page) => {
    await button(page, 'Create a token').click();
    await page.getByLabel('List plants').waitFor();
    assert.equal(await page.getByLabel('Create and delete plants').count(), 0);
  });
  const reader = await service.tokenFor('dora', { scopes: ['tokens:read'] });
  await browser.visit(service, { token: reader, at: '#/tokens' }, async (page) => {
    const create = button(page, 'Create a token');
    await create.waitFor();
    assert.equal(await create.getAttribute('title'), 'Your token lacks the scope tokens:write.');
  });
  const none = await service.tokenFor('dora', { scopes: ['plants:read'] });
  await browser.visit(service, { token: none, at: '#/tokens' }, async (page) => {
    await page.getByRole('heading', { name: 'Your token gives no access to the tokens' }).waitFor();
  });
});

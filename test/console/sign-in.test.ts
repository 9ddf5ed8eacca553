import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { signIn, startBrowser, untilTitled } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { revoke } from './revoke.ts';

const service = await startService({ AUTH_FAILURE_LIMIT: '0', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
after(() => service.stop());
const browser = await startBrowser();
after(() => browser.stop());

function focused(page: Page): Promise<unknown> {
  return page.evaluate(
    'document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent',
  );
}

test('a person signs in by keyboard alone, and can show the typed token', () =>
  browser.visit(service, { token: null, at: '#/plants' }, async (page) => {
    await page.getByRole('heading', { name: 'Plant Store' }).waitFor();
    await inspect(page, 'sign-in');
    assert.match(String(await focused(page)), /^Token/);
    await page.keyboard.type(service.token);
    const input = page.getByLabel('Token', { exact: true });
    assert.equal(await input.getAttribute('type'), 'password');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await input.getAttribute('type'), 'text');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    // It opens the page in the address.
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
    await untilTitled(page, 'Plants · Plant Store');
    await page.locator('h1:focus').waitFor();
    assert.ok(!page.url().includes(service.token));
  }));

test('text that is not a token is refused with a message', () =>
  browser.visit(service, { token: null }, async (page) => {
    for (const [text, sentence] of [
      ['', 'Paste a token here.'],
      ['pst_wrong', 'The token is unknown'],
      ['two words', 'without spaces'],
      ['pst_…', 'Did you copy all of it?'],
    ] as const) {
      await page.getByLabel('Token', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText(sentence).waitFor();
    }
    await inspect(page, 'sign-in-refused');
  }));

test('a token is kept for a reload only when chosen, and only in the tab', () =>
  browser.visit(service, {}, async (page) => {
    const stored = () =>
      page.evaluate('JSON.stringify([{ ...localStorage }, document.cookie, { ...sessionStorage }])');
    assert.equal(await stored(), '[{},"",{}]');
    await page.reload();
    await page.getByLabel('Keep until this tab closes').check();
    await signIn(page, service.token);
    assert.match(String(await stored()), /^\[\{\},"",\{"plant-store\.token":/);
    await page.reload();
    await page.getByRole('navigation', { name: 'Sections' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await focused(page), 'Skip to the content');
    // The page of an operation keeps the token, too.
    await page.goto(`${service.url}/docs/api/list-plants.html`);
    await page.getByText('Try it').click();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('200 OK', { exact: true }).waitFor();
    await page.goto(`${service.url}/console/`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Plant Store' }).waitFor();
    assert.equal(await stored(), '[{},"",{}]');
  }));

test('Back to the console or to a tried operation brings no session back that was ended meanwhile', () =>
  browser.visit(service, {}, async (page) => {
    const back = `dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`;
    await page.evaluate(back);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.goto(`${service.url}/docs/api/list-plants.html`);
    await page.getByText('Try it').click();
    const token = page.getByLabel('Token');
    await token.fill(service.token);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('200 OK', { exact: true }).waitFor();
    await page.evaluate(back);
    assert.equal(await token.inputValue(), service.token);
    await page.evaluate('sessionStorage.clear()');
    const isLoaded = page.waitForEvent('load');
    await page.evaluate(back);
    await isLoaded;
    assert.equal(await token.inputValue(), '');
    assert.equal(await page.getByText('200 OK', { exact: true }).count(), 0);
  }));

test('a message does not outlive its session', async () => {
  const token = await service.tokenFor('bob');
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Alder');
    await page.keyboard.press('Enter');
    await page.getByText('was added as plant').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, token);
    assert.equal(await page.getByText('was added as plant').count(), 0);
  });
});

test('the list of shortcuts does not outlive its session', async () => {
  const [first, second] = [await service.tokenFor('hal'), await service.tokenFor('ida')];
  await browser.visit(service, { token: first, at: '#/plants' }, async (page) => {
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await revoke(service, first);
    await page.goBack();
    await page.getByText('The service no longer accepts the token').waitFor();
    await signIn(page, second);
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
  });
});

test('a failure that ends a session does not appear in the next one', async () => {
  const [first, second] = [await service.tokenFor('carl'), await service.tokenFor('carl')];
  const body = { url: 'http://127.0.0.1:9/', description: 'The shop' };
  succeeded(await service.request('POST', '/webhooks', { token: first, body }), 201);
  await browser.visit(service, { token: first, at: '#/webhooks' }, async (page) => {
    await page.getByRole('link', { name: 'The shop' }).click();
    // Held, because the page reads by itself, too, and would end the session before the button is pressed.
    const tests = await intercept(page, (request) => request.url().endsWith('/test'));
    await page.getByRole('button', { name: 'Send a test' }).click();
    const held = await tests.next(1);
    await revoke(service, first);
    await held.continue();
    await page.getByText('The service no longer accepts the token').waitFor();
    await signIn(page, second);
    await page.getByRole('heading', { name: 'The shop' }).waitFor();
    assert.equal(await page.locator('.toast').count(), 0);
  });
});

test('what still runs at the end of a session does not go on as the next user, nor tell them about it', async () => {
  const [first, second] = [await service.tokenFor('dora'), await service.tokenFor('eva')];
  for (const token of [first, second]) {
    for (let id = 1; id <= 8; id++) {
      succeeded(await service.request('POST', '/plants', { token, body: { id, name: 'Alder' } }), 201);
    }
  }
  await browser.visit(service, { token: first, at: '#/tokens' }, async (page) => {
    await page.getByRole('link', { name: 'Plants', exact: true }).click();
    await page.getByLabel('Choose all on this page').check();
    const deletes = await intercept(page, (request) => request.method() === 'DELETE');
    await page.getByRole('button', { name: 'Delete 8 plants' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await deletes.next(6);
    await page.goBack();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, second);
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    // The list that showed the plants is read again once all have ended.
    const haveEnded = page.waitForResponse((response) => response.url().includes('/plants?'));
    const held = [...deletes.routes];
    await page.route('**', (route) => route.continue());
    for (const route of held) await route.continue();
    await haveEnded;
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    assert.equal(await page.locator('.toast').count(), 0);
  });
  const left = succeeded(await service.request('GET', '/plants', { token: second }), 200) as unknown[];
  assert.equal(left.length, 8);
});

test('a retry that its user no longer waits for fails without a message to the next one', async () => {
  const [first, second] = [await service.tokenFor('finn'), await service.tokenFor('gus')];
  const body = { url: 'http://127.0.0.1:9/', description: 'The shop' };
  succeeded(await service.request('POST', '/webhooks', { token: first, body }), 201);
  await browser.visit(service, { token: first, at: '#/webhooks', hasClock: true }, async (page) => {
    await page.getByRole('link', { name: 'The shop' }).click();
    const tests = await intercept(page, (request) => request.url().endsWith('/test'));
    await page.getByRole('button', { name: 'Send a test' }).click();
    const overloaded = { error: 50300, message: 'Nothing was done.' };
    await (await tests.next(1)).fulfill({ status: 503, headers: { 'retry-after': '30' }, json: overloaded });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, second);
    await page.clock.runFor(32_000);
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    assert.equal(await page.locator('.toast').count(), 0);
    assert.equal(tests.routes.length, 1);
  });
});

test('an expired token leads to the sign-in, which says why and returns to the same page', async () => {
  const [first, second] = [await service.tokenFor('ann'), await service.tokenFor('ann')];
  await browser.visit(service, { token: first, at: '#/plants' }, async (page) => {
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    await revoke(service, first);
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Alder');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('alert').getByText('The service no longer accepts the token').waitFor();
    await inspect(page, 'sign-in-again');
    await signIn(page, second);
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
  });
});

test('what was typed when the token expired is in its form again, for the same user only', async () => {
  const [first, second, third] = [
    await service.tokenFor('typist'),
    await service.tokenFor('somebody else'),
    await service.tokenFor('typist'),
  ];
  const openForm = (page: Page) => page.getByRole('button', { name: 'Add a plant' }).click();
  await browser.visit(service, { token: first, at: '#/plants' }, async (page) => {
    const name = page.getByLabel('Name');
    await openForm(page);
    await name.fill('Alder');
    await revoke(service, first);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('The service no longer accepts the token').waitFor();
    await signIn(page, second);
    await openForm(page);
    assert.equal(await name.inputValue(), '');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, third);
    await openForm(page);
    assert.equal(await name.inputValue(), 'Alder');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await openForm(page);
    assert.equal(await name.inputValue(), '');
  });
});

test('a replay that was answered after its session ended is one replay when it is pressed again', async () => {
  const [first, second] = [await service.tokenFor('jan'), await service.tokenFor('jan')];
  const body = { url: 'http://127.0.0.1:9/', description: 'The shop' };
  succeeded(await service.request('POST', '/webhooks', { token: first, body }), 201);
  await browser.visit(service, { token: first, at: '#/webhooks', hasClock: true }, async (page) => {
    await page.getByRole('link', { name: 'The shop' }).click();
    const replays = await intercept(page, (request) => request.url().endsWith('/replay'));
    const replay = async () => {
      await page.getByRole('button', { name: 'Replay' }).first().click();
      await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    };
    await replay();
    const lost = await replays.next(1);
    const answer = await lost.fetch();
    await revoke(service, first);
    await page.clock.runFor(6_000);
    await page.getByText('The service no longer accepts the token').waitFor();
    await lost.fulfill({ response: answer });
    await signIn(page, second);
    await replay();
    const again = await replays.next(2);
    assert.equal(again.request().postData(), lost.request().postData());
    await again.continue();
    await page.getByText('Nothing failed for good since then.').waitFor();
  });
});

test('a new page moves the focus to its heading, and sets the title', () =>
  browser.visit(service, {}, async (page) => {
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Plants' }).click();
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
    assert.equal(await focused(page), 'Plants');
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.goto(`${service.url}/console/#/nowhere/at%all`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await inspect(page, 'missing');
  }));

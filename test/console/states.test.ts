import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { freePort } from '../../testkit/sockets/free-port.ts';

const service = await startService();
after(() => service.stop());
const browser = await startBrowser();
after(() => browser.stop());

test('an offline user is told so, keeps the page, and recovers automatically', async () => {
  const token = await service.tokenFor('traveller');
  succeeded(await service.request('POST', '/plants', { token, body: { name: 'Alder' } }), 201);
  await browser.visit(service, { at: '#/plants', token, mayLoseConnection: true }, async (page) => {
    await page.getByRole('cell', { name: 'Alder', exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('You are offline.').waitFor();
    assert.ok(await page.getByRole('cell', { name: 'Alder', exact: true }).isVisible());
    await inspect(page, 'plants-offline');
    await page.getByRole('link', { name: 'Import' }).click();
    await page.getByRole('link', { name: '← Plants' }).click();
    await page.getByRole('heading', { name: 'The plants could not be loaded' }).waitFor();
    await inspect(page, 'plants-failed');
    await page.context().setOffline(false);
    await page.getByRole('cell', { name: 'Alder', exact: true }).waitFor();
    await page.getByText('You are offline.').waitFor({ state: 'detached' });
  });
});

test('an unavailable service is reported, and failed loads are retried when it is back', async () => {
  const port = String(await freePort());
  const first = await startService({ PORT: port });
  const { token } = first;
  let second: typeof first | undefined;
  try {
    await browser.visit(first, { at: '#/plants', mayLoseConnection: true }, async (page) => {
      await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
      await first.stop();
      await page.getByRole('button', { name: 'Add a plant' }).click();
      await page.getByLabel('Name').fill('Alder');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByText('The service does not answer.').waitFor();
      await page.getByRole('dialog').getByText('The service cannot be reached.').waitFor();
      await inspect(page, 'plants-add-failed');
      second = await startService({ PORT: port, BOOTSTRAP_TOKEN: token });
      await page.getByText('The service does not answer.').waitFor({ state: 'detached' });
      await page.getByRole('dialog').getByText('cannot be reached').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('cell', { name: 'Alder', exact: true }).waitFor();
    });
  } finally {
    await first.stop();
    await second?.stop();
  }
});

test('a service that hangs is reported, and asked until it answers', async () => {
  const token = await service.tokenFor('waiter');
  const options = { at: '#/plants', token, hasClock: true, mayLoseConnection: true };
  await browser.visit(service, options, async (page) => {
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    // So that it follows the clock of the test.
    await page.evaluate(`AbortSignal.timeout = (ms) => {
      const ending = new AbortController();
      setTimeout(() => ending.abort(), ms);
      return ending.signal;
    }`);
    const loads = await intercept(page, (request) => request.url().endsWith('/tokens'));
    const probes = await intercept(page, (request) => request.url().endsWith('/healthz'));
    await page.getByRole('link', { name: 'Tokens' }).click();
    await loads.next(1);
    await page.clock.runFor(31_000);
    await page.getByText('The service does not answer.').waitFor();
    for (let seconds = 0; probes.routes.length < 2 && seconds < 60; seconds++) await page.clock.runFor(1_000);
    await (await probes.next(2)).continue();
    await page.unrouteAll();
    await page.getByText('The service does not answer.').waitFor({ state: 'detached' });
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
  });
});

test('a button that disappears when it is pressed passes the focus on to the heading', async () => {
  const token = await service.tokenFor('typist');
  await browser.visit(service, { token }, async (page) => {
    const fault = { status: 500, json: { error: 50000, message: 'A fault of the service.' } };
    await page.route(/\/plants\?/, (route) => route.fulfill(fault));
    await page.getByRole('link', { name: 'Plants', exact: true }).first().click();
    await page.getByRole('heading', { name: 'The plants could not be loaded' }).waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).press('Enter');
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    await page.locator('h1:focus').waitFor();
    await page.getByRole('button', { name: 'Add a plant' }).click();
    await page.getByLabel('Name').fill('Alder');
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'Alder', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Add a plant' }).focus();
    await page.getByRole('button', { name: 'Dismiss' }).press('Enter');
    await page.locator('h1:focus').waitFor();
  });
});

test('a reload while the service restarts does not ask for a kept token again', async () => {
  const token = await service.tokenFor('patient');
  const options = { at: '#/plants', token: null, hasClock: true, mayLoseConnection: true };
  await browser.visit(service, options, async (page) => {
    await page.getByLabel('Keep until this tab closes').check();
    await signIn(page, token);
    const asked = await intercept(page, (request) => /\/(?:me|healthz)$/.test(request.url()));
    await page.reload();
    const held = await asked.next(1);
    await page.getByText('Signing in…').waitFor();
    await held.abort();
    await page.getByText('The service cannot be reached.').waitFor();
    await page.unrouteAll();
    await page.clock.runFor(3_000);
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
  });
});

test('a kept token that is answered late does not replace the one that was typed meanwhile', async () => {
  const [kept, typed] = [await service.tokenFor('before'), await service.tokenFor('after')];
  const options = { at: '#/plants', token: null, hasClock: true, mayLoseConnection: true };
  await browser.visit(service, options, async (page) => {
    await page.getByLabel('Keep until this tab closes').check();
    await signIn(page, kept);
    const asked = await intercept(page, (request) => request.url().endsWith('/me'));
    await page.reload();
    await (await asked.next(1)).abort();
    await page.getByText('The service cannot be reached.').waitFor();
    await page.clock.runFor(3_000);
    const late = await asked.next(2);
    await page.getByLabel('Token', { exact: true }).fill(typed);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await (await asked.next(3)).continue();
    await page.locator('.user').getByText('after', { exact: true }).waitFor();
    const isAnswered = page.waitForResponse((response) => response.url().endsWith('/me'));
    await late.continue();
    await isAnswered;
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    assert.equal(await page.locator('.user').innerText(), 'after');
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
  });
});

test('a page of the proxy means that the service is away, and a kept token waits until it is back', async () => {
  const token = await service.tokenFor('proxied');
  await browser.visit(service, { at: '#/plants', token: null, hasClock: true }, async (page) => {
    await page.getByLabel('Keep until this tab closes').check();
    await signIn(page, token);
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    const away = { status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' };
    await page.route(/\/(?:me|healthz)$/, (route) => route.fulfill(away));
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.unrouteAll();
    await page.clock.runFor(3_000);
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
  });
});

test('a person whose token may ask no more for now is told so, for as long as the console waits', async () => {
  const token = await service.tokenFor('hasty');
  await browser.visit(service, { at: '#/plants', token, hasClock: true }, async (page) => {
    const limited = {
      status: 429,
      headers: { 'retry-after': '5' },
      json: { error: 42900, message: 'Wait.' },
    };
    await page.route('**/tokens', (route) => route.fulfill(limited));
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByText('The service limits how often your token may ask.').waitFor();
    await page.unrouteAll();
    await page.clock.runFor(6_000);
    await page.getByRole('table', { name: 'Tokens' }).waitFor();
    await page.getByText('limits how often').waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'Plants', exact: true }).click();
    await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
    const tooLong = { ...limited, headers: { 'retry-after': '3600' } };
    await page.route('**/tokens', (route) => route.fulfill(tooLong));
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('heading', { name: 'The tokens could not be loaded' }).waitFor();
    await page.clock.runFor(101_000);
    await page.getByText('limits how often').waitFor({ state: 'detached' });
  });
});

for (const [what, get] of [
  ['blocks', `throw new DOMException('Access is denied.', 'SecurityError')`],
  ['lacks', 'return null'],
] as const) {
  test(`a browser that ${what} storage can be used until a reload`, async () => {
    const token = await service.tokenFor('private');
    await browser.visit(service, { at: '#/plants', token: null }, async (page) => {
      await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', { get() { ${get}; } })`);
      await page.reload();
      await page.getByLabel('Keep until this tab closes').check();
      await signIn(page, token);
      await page.getByRole('heading', { name: 'No plants yet' }).waitFor();
      await page.keyboard.press('?');
      await page.getByLabel('Use these keys').uncheck();
    });
  });
}

test('a scope that the token lacks is named, and actions that need it are not offered', async () => {
  const reader = await service.tokenFor('reader', { scopes: ['plants:read'] });
  await browser.visit(service, { at: '#/plants', token: reader }, async (page) => {
    const add = page.getByRole('button', { name: 'Add a plant' });
    assert.equal(await add.getAttribute('title'), 'Your token lacks the scope plants:write.');
    await add.click({ force: true });
    // A phone does not hover.
    await page.getByRole('status').getByText('Your token lacks the scope plants:write.').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.getByRole('checkbox').count(), 0);
    const imports = page.getByRole('button', { name: 'Import' });
    assert.equal(await imports.getAttribute('title'), 'Your token lacks the scope plants:write.');
    await page.evaluate(`location.hash = '#/plants/import'`);
    await page.getByRole('heading', { name: 'Your token gives no access to the import' }).waitFor();
  });
  const hooker = await service.tokenFor('hooker', { scopes: ['webhooks:read'] });
  await browser.visit(service, { at: '#/plants', token: hooker }, async (page) => {
    await page.getByRole('heading', { name: 'Your token gives no access to the plants' }).waitFor();
    await page.getByText('token create --user hooker --scopes webhooks:read,plants:read').waitFor();
    await inspect(page, 'plants-no-scope');
  });
  const quoted = await service.tokenFor("o'hara & co", { scopes: ['webhooks:read'] });
  await browser.visit(service, { at: '#/plants', token: quoted }, async (page) => {
    await page.getByText(`--user 'o'\\''hara & co' --scopes webhooks:read,plants:read`).waitFor();
  });
});

test('a shared plant is marked with its whole owner, and cannot be deleted', async () => {
  // As many identity providers name users.
  const name = '5b1ce2f4-9c0b-4bb0-a1f6-1f2c0f6b7d3a';
  const [owner, viewer] = [await service.tokenFor(name), await service.tokenFor('victor')];
  await service.beside(({ store, runtime }) =>
    store.access.addShare({ owner: name, viewer: 'victor', at: runtime.clock.now() }, 100),
  );
  succeeded(await service.request('POST', '/plants', { token: owner, body: { name: 'Oak' } }), 201);
  succeeded(
    await service.request('POST', '/plants', { token: viewer, body: { name: 'Vine', tag: 'Vitis' } }),
    201,
  );
  await browser.visit(service, { at: '#/plants', token: viewer }, async (page) => {
    await page.getByText(`shared by ${name}`).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Delete .*, plant/ }).count(), 1);
    assert.equal(await page.getByRole('button', { name: 'Delete Vine, plant 1' }).count(), 1);
    await page.getByLabel('Choose all on this page').check();
    await page.getByRole('button', { name: 'Delete 1 plant', exact: true }).waitFor();
    assert.equal(await page.getByRole('checkbox', { name: /, plant/ }).count(), 1);
    await inspect(page, 'plants-shared');
  });
});

test('Back below a question leaves it about the same plants', async () => {
  const token = await service.tokenFor('turner');
  for (const name of ['Alder', 'Birch']) {
    succeeded(await service.request('POST', '/plants', { token, body: { name } }), 201);
  }
  await browser.visit(service, { at: '#/plants?name=a', token }, async (page) => {
    const choice = (name: string) => page.getByLabel(`Choose ${name}`);
    await choice('Alder').check();
    await page.evaluate(`location.hash = '#/plants?name=b'`);
    await choice('Birch').check();
    await page.getByRole('button', { name: 'Delete 1 plant', exact: true }).click();
    await page.goBack();
    await choice('Alder').waitFor();
    assert.match(await page.getByRole('dialog').innerText(), /Birch/);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('1 plant was deleted.').waitFor();
    assert.ok(await choice('Alder').isChecked());
  });
});

test('a printed page has no navigation over its content, upright or across', async () => {
  await browser.visit(service, { at: '#/plants' }, async (page) => {
    await page.emulateMedia({ media: 'print' });
    for (const width of [718, 1_040]) {
      await page.setViewportSize({ width, height: 700 });
      assert.equal(await page.locator('.side').isVisible(), false);
      assert.equal(await page.locator('.sections').isVisible(), false);
      assert.equal((await page.locator('main').boundingBox())?.width, width);
    }
  });
});

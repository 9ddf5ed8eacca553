import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConsole } from '../../testkit/browser/console.ts';
import { inspect } from '../../testkit/browser/inspect.ts';

const { browser, create, receiver, service } = await startConsole({ WEBHOOK_RETRY_SCHEDULE: '0s' });

const disable = (token: string, id: string) =>
  service.request('PATCH', `/webhooks/${id}`, { token, body: { enabled: false } });

test('a webhook whose deliveries failed for good is not shown as healthy, and can replay them', async () => {
  const token = await service.tokenFor('ann');
  receiver.usually({ status: 500 });
  await create('/webhooks', token, { url: receiver.url, description: 'The broken one' });
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token, at: '#/deliveries?state=failed' }, async (page) => {
    await page.getByRole('link', { name: 'Alder' }).waitFor();
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('Failing', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('The last attempt failed. 1 delivery failed for good.').waitFor();
    await inspect(page, 'overview-given-up');

    receiver.usually({ status: 204 });
    await page.getByRole('button', { name: 'Replay what failed, The broken one' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).press('Enter');
    await page.getByText('1 event will be sent again.').waitFor();
    await page.getByText('Nothing: no webhook has a problem.').waitFor();
  });
});

test('a failing webhook leads from the overview to the reason, also when newer deliveries wait', async () => {
  const token = await service.tokenFor('eve');
  const { id } = await create('/webhooks', token, { url: receiver.url, description: 'The late one' });
  await create('/plants', token, { name: 'Alder' });
  const now = Date.now();
  const ago = (ms: number) => new Date(now - ms).toISOString();
  const health = { waiting: 11, failed: 0, lastFailureAt: ago(60_000), oldestWaitingAge: 7_200 };
  // A real one would have to fail for more than an hour.
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    const untried = { state: 'pending', attempts: 0 };
    const tried = { attempts: 3, reason: 'The receiver answered 500.' };
    const looked: string[] = [];
    await page.route(/\/webhooks(?:\/wh_\w+)?$/, async (route) => {
      const answer = await (await route.fetch()).json();
      const failing = (webhook: object) => ({ ...webhook, ...health, lastSuccessAt: undefined });
      await route.fulfill({ json: Array.isArray(answer) ? answer.map(failing) : failing(answer) });
    });
    await page.route(/\/deliveries(?:\/evt_\w+|\?.*)$/, async (route) => {
      const url = new URL(route.request().url());
      const until = url.searchParams.get('until');
      if (until !== null) looked.push(until);
      for (const name of ['until', 'state']) url.searchParams.delete(name);
      const answer = await (await route.fetch({ url: url.href })).json();
      const isOld = until !== null || !Array.isArray(answer);
      const shown = (one: object) => ({ ...one, ...untried, ...(isOld ? tried : {}) });
      await route.fulfill({ json: Array.isArray(answer) ? answer.map(shown) : shown(answer) });
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'See why The late one needs attention' }).click();
    await page.waitForURL(new RegExp(`#/webhooks/${id}$`));
    await page.locator('.notice').getByText('Reason: The receiver answered 500.').waitFor();
    const [until = ''] = looked;
    assert.ok(Math.abs(now - 7_200_000 - Date.parse(until)) < 120_000, until);
  });
});

test('a disabled webhook can be enabled from the overview, and the focus is not lost with the button', async () => {
  const token = await service.tokenFor('bob');
  const { id } = await create('/webhooks', token, { url: receiver.url, description: 'The shop' });
  await disable(token, id);
  await browser.visit(service, { token }, async (page) => {
    await page.getByText('Nothing: no webhook has a problem.').waitFor();
    await create('/plants', token, { name: 'Alder' });
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('It is disabled. 1 delivery is held.').waitFor();
    await page.getByRole('button', { name: 'Enable, The shop' }).press('Enter');
    await page.getByText('Nothing: no webhook has a problem.').waitFor();
    assert.equal(await page.locator(':focus').innerText(), 'Needs attention');
  });
});

test('of many webhooks that need attention ten are shown, with a link to the others', async () => {
  const token = await service.tokenFor('carl');
  const made = Array.from({ length: 12 }, (_, n) =>
    create('/webhooks', token, { url: receiver.url, description: `Shop ${n}` }),
  );
  for (const { id } of await Promise.all(made)) await disable(token, id);
  await create('/plants', token, { name: 'Alder' });
  await browser.visit(service, { token }, async (page) => {
    await page.getByRole('link', { name: 'and 2 more webhooks' }).waitFor();
    assert.equal(await page.locator('.attention li').count(), 10);
    await inspect(page, 'overview-many');
    await page.getByRole('link', { name: 'and 2 more webhooks' }).click();
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  });
});

test('the tile and the line about a webhook name the same age', async () => {
  const token = await service.tokenFor('erin');
  await create('/webhooks', token, { url: receiver.url });
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    await page.route(/\/webhooks$/, async (route) => {
      const response = await route.fetch();
      const [webhook] = await response.json();
      await route.fulfill({ response, json: [{ ...webhook, waiting: 1, oldestWaitingAge: 5_300 }] });
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('1 delivery is waiting, the oldest for 1.5 h.').waitFor();
    await page.getByText('the oldest for 1.5 h', { exact: true }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });
});

test('uncounted hours are not shown as zeros, and each shown hour has one mark', async () => {
  const token = await service.tokenFor('dora');
  await create('/plants', token, { name: 'Alder' });
  const hour = (n: number) => ({
    from: new Date(Date.UTC(2030, 0, 1, n)).toISOString(),
    plants: 1,
    delivered: 2,
    failed: 0,
    waiting: 0,
  });
  // Real uncounted hours need over a hundred thousand events, so the test supplies the answers.
  const answers = [{ hours: [] }, { hours: [hour(1), hour(2), hour(3)] }];
  await browser.visit(service, { token, at: '#/plants' }, async (page) => {
    await page.route('**/activity?*', (route) => route.fulfill({ json: answers.shift() }));
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name }).locator('.tile-value');
    await page.getByRole('link', { name: 'Overview' }).click();
    await tile('New plants').waitFor();
    assert.equal(await tile('New plants').innerText(), '–');
    assert.equal(await tile('Delivered').innerText(), '–');
    assert.equal(await page.locator('.chart').count(), 0);
    await inspect(page, 'overview-uncounted');

    await page.getByRole('link', { name: 'Plants' }).first().click();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('in the last 3 hours').first().waitFor();
    assert.equal(await tile('Delivered').innerText(), '6');
    const marks = await page.locator('.chart-hours').first().locator('span').allInnerTexts();
    assert.equal(marks.length, 3);
    assert.equal(new Set(marks).size, 3);
    await inspect(page, 'overview-three-hours');
  });
});

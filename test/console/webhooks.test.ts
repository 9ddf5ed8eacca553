import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { verifyWebhook } from '../../packages/client/src/verify-webhook.ts';
import { untilTitled } from '../../testkit/browser/browser.ts';
import { startConsole } from '../../testkit/browser/console.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { eventually } from '../../testkit/service/eventually.ts';

const { browser, receiver, service } = await startConsole();

type Made = { id: string; secret: string };

async function webhookOf(token: string, url: string, description: string): Promise<Made> {
  const answer = await service.request('POST', '/webhooks', { token, body: { url, description } });
  // The shape in the OpenAPI document.
  return succeeded(answer, 201) as Made;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('a webhook is created by keyboard alone, and its secret shown once', async () => {
  const token = await service.tokenFor('ann');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await inspect(page, 'webhooks-empty');
    await button(page, 'Create a webhook').press('Enter');
    await page.keyboard.type('http://10.0.0.1/');
    await page.keyboard.press('Enter');
    await page.getByText(/refused by the rule "private"/).waitFor();
    assert.equal(await page.getByLabel('URL').getAttribute('aria-invalid'), 'true');
    await inspect(page, 'webhook-create-wrong');
    await page.getByLabel('URL').fill(`${receiver.url}/shop`);
    await page.getByLabel('Description').fill('The shop');
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { name: 'The webhook is ready' }).waitFor();
    const secret = await page.locator('.secret-value code').first().innerText();
    assert.match(secret, /^whsec_/);
    await inspect(page, 'webhook-secret');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'The webhook is ready' }).waitFor();
    await page.getByLabel('I saved the secret').press('Space');
    await button(page, 'Done').press('Enter');

    await page.getByRole('link', { name: 'The shop' }).waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await inspect(page, 'webhooks');
    await page.getByRole('link', { name: 'The shop' }).press('Enter');
    await button(page, 'Send a test').press('Enter');
    const [request] = await receiver.receive(1);
    assert.ok(request);
    assert.equal((await verifyWebhook(request.headers, request.body, secret)).payload.name, 'Test plant');
    await page.getByText('204').waitFor();
    await untilTitled(page, 'Test event · Plant Store');
    assert.equal(await page.locator('h1:focus').innerText(), 'Test event');
    await inspect(page, 'delivery');
  });
});

test('a webhook is disabled, changed, rotated, replayed and deleted on its page', async () => {
  const token = await service.tokenFor('bob');
  const { id } = await webhookOf(token, `${receiver.url}/bob`, 'The garden');
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    await page.getByRole('heading', { name: 'The garden' }).waitFor();
    await page.locator('.page-head').getByText(`${receiver.url}/bob`).waitFor();
    await inspect(page, 'webhook');
    await button(page, 'Disable').click();
    await page.getByText(/^It is disabled: deliveries of new plants are held/).waitFor();
    await inspect(page, 'webhook-disabled');
    await button(page, 'Enable').click();
    await button(page, 'Disable').waitFor();

    await button(page, 'Edit').click();
    await page.getByLabel('Rate').fill('0');
    await button(page, 'Save').click();
    await page.getByText('A rate is a whole number from 1 to 1000.').waitFor();
    await page.getByLabel('Rate').fill('7');
    await button(page, 'Save').click();
    await page.getByText('at most 7 a second').waitFor();

    await button(page, 'Rotate the secret').click();
    await inspect(page, 'webhook-rotate');
    await button(page, 'Rotate').click();
    await page.getByRole('heading', { name: 'The new secret' }).waitFor();
    await page.getByLabel('I saved the secret').check();
    await button(page, 'Done').click();

    await button(page, 'Replay').first().click();
    await inspect(page, 'webhook-replay');
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Nothing failed for good since then.').waitFor();

    await button(page, 'Delete').click();
    await inspect(page, 'webhook-delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  });
});

type Tried = { event: string; plant: { name: string }; attempts: number };

/** A webhook of a new user whose receiver answers 500. */
async function newBroken(t: TestContext, user: string) {
  const broken = await startReceiver();
  t.after(broken.stop);
  broken.usually({ status: 500, body: 'out of order' });
  const token = await service.tokenFor(user);
  const { id } = await webhookOf(token, broken.url, 'The broken one');
  return {
    broken,
    token,
    id,
    /** Adds a plant; resolves with its delivery after the first attempt. */
    async add(name: string): Promise<Tried> {
      succeeded(await service.request('POST', '/plants', { token, body: { name } }), 201);
      return eventually('attempt', async () => {
        const { text } = await service.request('GET', `/webhooks/${id}/deliveries`, { token });
        const deliveries: Tried[] = JSON.parse(text);
        return deliveries.find(({ plant, attempts }) => plant.name === name && attempts > 0);
      });
    },
  };
}

/** Longer than until the deliveries on a webhook's page are read again. */
const A_WHILE_MS = 11_000;

const card = (page: Page, plant: string) => page.locator('.in-full', { hasText: plant });

test('a double click on Disable disables, and does not enable at once', async () => {
  const token = await service.tokenFor('double clicker');
  const { id } = await webhookOf(token, receiver.url, 'The garden');
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    const changes = await intercept(page, (request) => request.method() === 'PATCH');
    const { mouse } = page;
    await button(page, 'Disable').hover();
    await mouse.down({ clickCount: 1 });
    await mouse.up({ clickCount: 1 });
    await (await changes.next(1)).continue();
    await button(page, 'Enable').waitFor();
    await mouse.down({ clickCount: 2 });
    await mouse.up({ clickCount: 2 });
    assert.equal(await button(page, 'Enable').getAttribute('aria-busy'), 'false');
    assert.equal(changes.routes.length, 1);
  });
});

test('a failing webhook explains itself on its page, and nothing is under the tab bar', async (t) => {
  const { token, id, add } = await newBroken(t, 'eva');
  await add('Alder');
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    await page.getByText('Failing', { exact: true }).waitFor();
    await page.getByText('The last attempt failed. 1 delivery is waiting.').waitFor();
    await page.locator('.notice').getByText('Reason: The receiver answered 500').waitFor();
    await page.locator('summary', { hasText: 'The receiver answered 500' }).waitFor();
    assert.equal(await page.locator('summary .badge.warn').innerText(), 'Waiting');
    await page.getByText('500', { exact: true }).waitFor();
    await page.getByText('out of order').waitFor();
    await page.getByText('Failure rate of the last hour: 100 %, 1 of 1 deliveries.').waitFor();
    await page.locator('summary', { hasText: 'Alder' }).waitFor();
    await page.getByRole('link', { name: 'View delivery' }).waitFor();
    await inspect(page, 'webhook-failing');
    await page.setViewportSize({ width: 390, height: 740 });
    await button(page, 'Delete').click();
    await page.getByRole('dialog').waitFor();
  });
});

test('a delivery that fails while the page of its webhook loads is shown once', async (t) => {
  const { token, id, add } = await newBroken(t, 'finn');
  await add('Alder');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    await page.route(`**/webhooks/${id}/deliveries?*`, async (route) => {
      const response = await route.fetch();
      const deliveries: object[] = await response.json();
      await route.fulfill({ json: deliveries.map((each) => ({ ...each, reason: undefined })) });
    });
    await page.getByRole('link', { name: 'The broken one', exact: true }).click();
    await card(page, 'Alder').getByText('out of order').first().waitFor();
    assert.equal(await card(page, 'Alder').count(), 1);
  });
});

test('a delivery that is removed while the page of its webhook loads is left out', async (t) => {
  const { token, add } = await newBroken(t, 'gus');
  const { event } = await add('Alder');
  await add('Birch');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    const gone = { status: 404, json: { error: 40403, message: 'There is no such delivery.' } };
    await page.route(`**/deliveries/${event}`, (route) => route.fulfill(gone));
    await page.getByRole('link', { name: 'The broken one', exact: true }).click();
    await card(page, 'Birch').waitFor();
    assert.equal(await card(page, 'Alder').count(), 0);
  });
});

test('the page of a failing webhook reads a delivery again only after another attempt', async (t) => {
  const { broken, token, id, add } = await newBroken(t, 'hal');
  broken.script({ status: 204 });
  const { event } = await add('Alder');
  await add('Birch');
  await browser.visit(service, { token, at: '#/webhooks', hasClock: true }, async (page) => {
    let reads = 0;
    page.on('request', (request) => {
      if (request.url().endsWith(`/webhooks/${id}/deliveries/${event}`)) reads++;
    });
    await page.getByRole('link', { name: 'The broken one', exact: true }).click();
    await card(page, 'Alder').waitFor();
    await add('Cedar');
    await page.clock.runFor(A_WHILE_MS);
    await card(page, 'Cedar').waitFor();
    assert.equal(reads, 1);
  });
});

test('the open card of a failed delivery stays open when a newer one fails', async (t) => {
  const { token, id, add } = await newBroken(t, 'ida');
  await add('Alder');
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await card(page, 'Alder').getByText('out of order').first().waitFor();
    await add('Birch');
    await page.clock.runFor(A_WHILE_MS);
    await card(page, 'Birch').waitFor();
    assert.deepEqual(await page.locator('.in-full[open] > summary strong').allInnerTexts(), ['Alder']);
  });
});

test('a delivery is sent again on the page of its webhook, which tells how that ended', async (t) => {
  const { broken, token, id, add } = await newBroken(t, 'jan');
  await add('Alder');
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    const again = page.getByRole('button', { name: 'Send again, Alder' });
    await again.click();
    await page.getByText('It failed again: The receiver answered 500').waitFor();
    broken.usually({ status: 204 });
    await again.click();
    await page.getByText('Delivered.', { exact: true }).waitFor();
    await page.getByText('Healthy', { exact: true }).waitFor();
  });
});

test('the deliveries on the page of a webhook follow when it is disabled', async (t) => {
  const { token, id, add } = await newBroken(t, 'kim');
  await add('Alder');
  await browser.visit(service, { token, at: `#/webhooks/${id}`, hasClock: true }, async (page) => {
    await card(page, 'Alder').getByText('Waiting').waitFor();
    await button(page, 'Disable').click();
    await card(page, 'Alder').getByText('Held').waitFor();
  });
});

test('a webhook or a delivery that does not exist is reported, and not tried again', async () => {
  const token = await service.tokenFor('lea');
  const { id } = await webhookOf(token, receiver.url, 'The shop');
  await browser.visit(service, { token, at: '#/webhooks/wh_none' }, async (page) => {
    await page.getByRole('heading', { name: 'This webhook does not exist' }).waitFor();
    assert.equal(await button(page, 'Try again').count(), 0);
    await inspect(page, 'webhook-missing');
    await page.evaluate(`location.hash = '#/deliveries/${id}/evt_none'`);
    await page.getByRole('heading', { name: 'This delivery does not exist' }).waitFor();
  });
});

/** The focused element's label or text. */
function focused(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    const { labels, ariaLabel, textContent } = document.activeElement;
    return (labels?.[0]?.textContent ?? ariaLabel ?? textContent).trim();
  })()`);
}

test('each dialog works by keyboard, and the focus returns to where it was', async () => {
  const token = await service.tokenFor('keys');
  const { id } = await webhookOf(token, receiver.url, 'The garden');
  await browser.visit(service, { token, at: `#/webhooks/${id}` }, async (page) => {
    for (const [opener, begin, ...order] of [
      ['Edit', 'URL', 'Description optional', 'Rate optional', 'Cancel', 'Save'],
      ['Replay', 'Send again', 'Since', 'Cancel', 'Replay'],
      ['Rotate the secret', 'The old one keeps working for', 'Cancel', 'Rotate'],
      ['Delete', 'Cancel', 'Delete'],
    ] as const) {
      for (const key of ['Enter', 'Space']) {
        await button(page, opener).press(key);
        await page.getByRole('dialog').waitFor();
        assert.equal(await focused(page), begin, opener);
        for (const next of order) {
          await page.keyboard.press('Tab');
          assert.equal(await focused(page), next, opener);
        }
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.equal(await focused(page), opener);
      }
    }
  });
});

test('a browser without URL.parse can create webhooks', async () => {
  const token = await service.tokenFor('older browser');
  await browser.visit(service, { token, at: '#/webhooks' }, async (page) => {
    await page.evaluate('delete URL.parse');
    await button(page, 'Create a webhook').click();
    await page.getByLabel('URL').fill('no URL');
    await page.keyboard.press('Enter');
    await page.getByText('This is not a URL').waitFor();
    await page.getByLabel('URL').fill(receiver.url);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The webhook is ready' }).waitFor();
  });
});

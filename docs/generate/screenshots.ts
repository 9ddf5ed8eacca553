import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { firstId } from '../../src/runtime.ts';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { startReceiver } from '../../testkit/receivers/receiver.ts';
import { type Service, startService } from '../../testkit/service/service.ts';

/**
 * Takes the documentation's pictures of the console (`npm run pictures`) from a real service in a real browser. The
 * plants span a day, so that the overview has something to show.
 */
const FOLDER = join(import.meta.dirname, '..', 'pictures');
const HOUR = 3_600_000;
const NAMES = [
  'Alder',
  'Silver birch',
  'Crab apple',
  'Field maple',
  'Hornbeam',
  'Rowan',
  'Sessile oak',
  'Wych elm',
];
/** How many plants were created in each of the last hours. */
const DAY = [1, 0, 0, 2, 1, 3, 6, 9, 12, 8, 7, 11, 14, 10, 6, 5, 9, 12, 7, 4, 3, 2, 4, 5];

const receiver = await startReceiver();
const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
const browser = await startBrowser();
try {
  const token = await service.tokenFor('ann');
  await createWebhook(token, receiver.url, 'The shop');
  await fillDay(service);
  await receiver.receive(DAY.reduce((sum, count) => sum + count, 0));
  await createWebhook(token, 'http://127.0.0.1:9/hook', 'The garden calendar');
  await request('POST', '/plants', token, { name: 'Tulip tree', tag: 'Liriodendron tulipifera' });
  await take(token, '#/', 'console-overview');
  await take(token, '#/plants', 'console-plants');
  await take(token, '#/deliveries?state=all', 'console-deliveries');
} finally {
  await browser.stop();
  await service.stop();
  await receiver.stop();
}

function createWebhook(token: string, url: string, description: string): Promise<void> {
  return request('POST', '/webhooks', token, { url, description });
}

async function request(method: string, path: string, token: string, body: unknown): Promise<void> {
  const { status, text } = await service.request(method, path, { token, body });
  if (status !== 201) throw new Error(text);
}

/** Directly in the store, since only it takes past events; webhooks are told of them normally. */
async function fillDay({ beside }: Service): Promise<void> {
  const now = Date.now();
  await beside(async ({ store }) => {
    const owner = (await store.access.user('ann'))?.id ?? 0;
    let made = 0;
    for (const [index, count] of DAY.entries()) {
      const from = now - (DAY.length - 1 - index) * HOUR;
      for (let n = 0; n < count; n++) {
        const name = NAMES[made++ % NAMES.length] ?? '';
        const event = firstId('evt', from + n);
        await store.plants.create({
          owner,
          id: undefined,
          name,
          tag: undefined,
          event,
          at: from,
          trace: undefined,
        });
      }
    }
  });
}

async function take(token: string, at: string, name: string): Promise<void> {
  const path = join(FOLDER, `${name}.png`);
  rmSync(path, { force: true });
  const context = { viewport: { width: 1200, height: 720 }, colorScheme: 'light' as const };
  await browser.visit(service, { token, at, context }, async (page) => {
    await page.locator('.loaded').first().waitFor();
    // Wait for the first attempt at the broken webhook, and for what the page then loads.
    if (at === '#/') await page.getByRole('link', { name: 'The garden calendar', exact: true }).waitFor();
    await page.mouse.move(0, 0);
    await page.screenshot({ path });
  });
}

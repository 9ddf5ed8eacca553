import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { signIn, startBrowser } from '../../testkit/browser/browser.ts';
import { inspect } from '../../testkit/browser/inspect.ts';
import { intercept } from '../../testkit/browser/intercept.ts';
import { succeeded } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { revoke } from './revoke.ts';

const service = await startService();
after(() => service.stop());
const browser = await startBrowser();
after(() => browser.stop());

const AT = '#/plants/import';
const example = join(import.meta.dirname, '..', '..', 'examples', 'plants.csv');

/** Chooses such a file as a person would. */
async function choose(page: Page, csv: string | Buffer, name = 'plants.csv'): Promise<void> {
  await page
    .getByLabel('Choose a CSV file')
    .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(csv) });
}

/** Fails if the browser would open the file. */
async function drop(page: Page, where: string, name: string, csv: string): Promise<void> {
  await page.evaluate(`
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(csv)}], '${name}'));
    for (const type of ['dragover', 'drop']) {
      const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer });
      if (document.querySelector('${where}').dispatchEvent(event)) throw new Error(type);
    }
  `);
}

async function plantsOf(token: string): Promise<{ id: number; name: string; tag?: string }[]> {
  // The shape for these fields.
  return succeeded(await service.request('GET', '/plants?fields=id,name,tag', { token }), 200) as [];
}

function named(count: number): string {
  const rows = Array.from({ length: count }, (_, at) => `Plant ${at + 1}\n`);
  return `name\n${rows.join('')}`;
}

const addsPlant = (request: Request) => request.method() === 'POST' && request.url().endsWith('/plants');

/** Starts an import that adds ten plants, and holds the next six requests, which are all that it sends at once. */
async function importHalfway(page: Page, start: string) {
  const sent = await intercept(page, addsPlant);
  await page.getByRole('button', { name: start }).click();
  for (let row = 1; row <= 10; row++) await (await sent.next(row)).continue();
  await sent.next(16);
  const names = sent.routes.map((route) => route.request().postDataJSON().name);
  assert.deepEqual(
    names,
    names.map((_, at) => `Plant ${at + 1}`),
  );
  return {
    async release(): Promise<void> {
      for (const route of sent.routes.slice(10)) await route.continue();
      await page.unrouteAll();
    },
  };
}

test('a file of plants is imported by keyboard alone, and every plant is as the file has it', async () => {
  const token = await service.tokenFor('importer');
  await browser.visit(service, { at: AT, token }, async (page) => {
    await page.getByRole('heading', { name: 'Import plants' }).waitFor();
    // The browser must know of the wait some time before the chooser opens.
    const chooser = page.waitForEvent('filechooser');
    await inspect(page, 'import');
    await page.getByLabel('Choose a CSV file').focus();
    await page.keyboard.press('Enter');
    await (await chooser).setFiles(example);
    await page.getByRole('heading', { name: 'plants.csv: 630 rows' }).waitFor();
    await inspect(page, 'import-preview');
    await page.getByRole('button', { name: 'Import 630 plants' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Done. 630 plants were added.').waitFor();
    await inspect(page, 'import-done');
  });
  const text = await readFile(example, 'utf8');
  const plants = await plantsOf(token);
  assert.equal(plants.length, 630);
  for (const { id, name } of plants.slice(0, 50)) assert.ok(text.includes(`${id},${name}`), name);
});

test('rows that cannot be imported are listed with their lines, and can be saved, corrected and imported', async () => {
  const token = await service.tokenFor('sloppy');
  succeeded(await service.request('POST', '/plants', { token, body: { id: 3, name: 'Here before' } }), 201);
  const csv =
    '\uFEFFid,name,tag\r\n1,Alder,Alnus\r\n\r\nx,Birch,\r\n3,Crab apple,Malus\r\n4,"Two\nlines",\r\n5,,\r\n6,Elm';
  await browser.visit(service, { at: AT, token }, async (page) => {
    await choose(page, csv);
    await page.getByText('3 rows cannot be imported as they are.').waitFor();
    await page.getByRole('heading', { name: '3 rows cannot be imported', exact: true }).waitFor();
    await inspect(page, 'import-preview-wrong');
    await page.getByRole('button', { name: 'Import 3 plants' }).click();
    await page.getByText('Done. 2 plants were added, and 4 rows failed.').waitFor();
    await page.getByRole('heading', { name: '4 rows failed', exact: true }).waitFor();
    await inspect(page, 'import-done-wrong');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download as CSV' }).click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), 'plants.errors.csv');
    const errors = await readFile(await saved.path(), 'utf8');
    const lines = errors.trim().split('\n');
    for (const [at, line] of [
      /^id,name,tag,line,error$/,
      /^x,Birch,,4,"The id must be /,
      /^3,Crab apple,Malus,5,You already have a plant with the id 3/,
      /^5,,,8,There is no name\.$/,
      /^6,Elm,9,"The row has 2 cells/,
    ].entries()) {
      assert.match(lines[at] ?? '', line);
    }
    await page.getByRole('button', { name: 'Choose another file' }).click();
    const corrected = errors
      .replace('x,Birch', '2,Birch')
      .replace('3,Crab', '33,Crab')
      .replace('5,,', '5,Dill,')
      .replace('6,Elm,9', '6,Elm,,9');
    await choose(page, corrected, saved.suggestedFilename());
    await page.getByRole('button', { name: 'Import 4 plants' }).click();
    await page.getByText('Done. 4 plants were added.').waitFor();
  });
  assert.deepEqual(
    (await plantsOf(token)).map(({ id, name }) => [id, name]),
    [
      [1, 'Alder'],
      [2, 'Birch'],
      [3, 'Here before'],
      [4, 'Two\nlines'],
      [5, 'Dill'],
      [6, 'Elm'],
      [33, 'Crab apple'],
    ],
  );
});

test('a file that is not a list of plants is refused with a message, and nothing is sent', async () => {
  const token = await service.tokenFor('refused');
  await browser.visit(service, { at: AT, token }, async (page) => {
    for (const [csv, sentence] of [
      ['', 'The file is empty.'],
      ['id,name,tag\n', 'The file has no rows, only the line that names the columns.'],
      ['id,tag\n1,x\n', 'There is no column "name".'],
      ['id,name,colour\n1,x,y\n', 'Column 3 is named "colour".'],
      ['"name\nAlder', 'The first line cannot be read.'],
      [Buffer.from('name\nErdb\xe4re', 'latin1'), 'The file is not UTF-8.'],
    ] as const) {
      await choose(page, csv);
      await page.getByText(sentence).waitFor();
    }
    await inspect(page, 'import-refused');
  });
  assert.deepEqual(await plantsOf(token), []);
});

test('a stopped import says what was done, and resumes without duplicates', async () => {
  const token = await service.tokenFor('stopper');
  await browser.visit(service, { at: AT, token }, async (page) => {
    await choose(page, named(1500));
    await page.getByText('and 1,492 more rows').waitFor();
    assert.deepEqual((await page.locator('td.name').allInnerTexts()).slice(0, 2), ['Plant 1', 'Plant 2']);
    const underWay = await importHalfway(page, 'Import 1,500 plants');
    await page.getByRole('button', { name: 'Stop' }).click();
    await underWay.release();
    const said = (await page.getByText('Stopped.').textContent()) ?? '';
    const [, added, left] =
      /Stopped\. ([\d,]+) plants? (?:was|were) added; ([\d,]+) rows were not sent/.exec(said) ?? [];
    const sum = [added, left].map((text) => Number(text?.replace(',', '')));
    assert.equal((await plantsOf(token)).length, sum[0]);
    assert.equal((sum[0] ?? 0) + (sum[1] ?? 0), 1500);
    await inspect(page, 'import-stopped');

    // A reload forgets the file, but not that its import started.
    await page.reload();
    await signIn(page, token);
    await choose(page, named(1500));
    await page.getByRole('button', { name: 'Import 1,500 plants' }).click();
    await page.getByText('Done. 1,500 plants were added.').waitFor();
  });
  const names = (await plantsOf(token)).map(({ name }) => name);
  assert.deepEqual([names.length, new Set(names).size], [1500, 1500]);
});

test('an import is not resumed after a day, when rows without an id would be added again', async () => {
  const token = await service.tokenFor('sleeper');
  await browser.visit(service, { at: AT, token, hasClock: true }, async (page) => {
    await choose(page, named(30));
    // A preview may stay open for as long as a person likes.
    await page.clock.fastForward('25:00:00');
    const underWay = await importHalfway(page, 'Import 30 plants');
    await page.getByRole('button', { name: 'Stop' }).click();
    await underWay.release();
    await page.getByText('Stopped.').waitFor();
    const { length } = await plantsOf(token);
    await page.clock.fastForward('25:00:00');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The import started more than 24 hours ago').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0);
    assert.equal(await page.getByText('no plant is added twice').count(), 0);
    await page.getByRole('button', { name: 'Choose another file' }).click();
    await choose(page, named(30));
    await page.getByRole('button', { name: 'Import 30 plants' }).click();
    await page.getByText('The import started more than 24 hours ago').waitFor();
    assert.equal((await plantsOf(token)).length, length);
  });
});

test('a completely imported file, here with semicolons and capitals, can be imported again', async () => {
  const token = await service.tokenFor('again');
  await browser.visit(service, { at: AT, token }, async (page) => {
    await choose(page, named(1));
    await page.getByRole('button', { name: 'Choose another file' }).click();
    await page.locator('h1:focus').waitFor();
    for (const total of [3, 6]) {
      await choose(page, 'NAME;Tag\nAlder;Alnus\nOak;\n"Elm; old";\n');
      await page.getByRole('button', { name: 'Import 3 plants' }).click();
      await page.getByText('Done. 3 plants were added.').waitFor();
      assert.equal((await plantsOf(token)).length, total);
      await page.getByRole('button', { name: 'Choose another file' }).click();
      await page.locator('h1:focus').waitFor();
    }
  });
});

test('an import halts when the token expires, and resumes after signing in again', async () => {
  const first = await service.tokenFor('interrupted');
  const second = await service.tokenFor('interrupted');
  await browser.visit(service, { at: AT, token: first }, async (page) => {
    await choose(page, named(1000));
    const underWay = await importHalfway(page, 'Import 1,000 plants');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await revoke(service, first);
    await underWay.release();
    await page.getByText('The service no longer accepts the token').waitFor();
    await signIn(page, second);
    await page.getByText('The import halted').waitFor();
    await inspect(page, 'import-halted');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Done. 1,000 plants were added.').waitFor();
  });
  assert.equal((await plantsOf(second)).length, 1000);
});

test('an import that halts can be continued only once its requests have ended', async () => {
  const token = await service.tokenFor('impatient');
  await browser.visit(service, { at: AT, token }, async (page) => {
    const sent = await intercept(page, addsPlant);
    await choose(page, named(8));
    await page.getByRole('button', { name: 'Import 8 plants' }).click();
    await sent.next(6);
    const [first, ...others] = sent.routes;
    await first?.fulfill({ status: 403, json: { error: 40300, message: 'Not with this token.' } });
    await page.getByText('Not with this token.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0);
    for (const route of others) await route.continue();
    await page.getByText('The import halted: 5 plants were added; 3 rows were not sent.').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Done. 8 plants were added.').waitFor();
  });
  assert.equal((await plantsOf(token)).length, 8);
});

test('a file may be dropped anywhere on the page, also over the preview of a wrong one', async () => {
  const token = await service.tokenFor('dropper');
  await browser.visit(service, { at: AT, token }, async (page) => {
    await page.locator('.rules').waitFor();
    await drop(page, '.rules', 'wrong.csv', 'name\nAspen');
    await page.getByRole('heading', { name: 'wrong.csv: 1 row' }).waitFor();
    await drop(page, 'h1', 'image.csv', '');
    await page.getByRole('alert').getByText('The file is empty.').waitFor();
    await drop(page, 'h1', 'right.csv', 'name\nAlder');
    await page.getByRole('heading', { name: 'right.csv: 1 row' }).waitFor();
    await page.getByRole('button', { name: 'Import 1 plant' }).click();
    await page.getByText('Done. 1 plant was added.').waitFor();
    await drop(page, 'h1', 'late.csv', 'name\nAsh');
    await page.getByText('Done. 1 plant was added.').waitFor();
  });
  assert.deepEqual(
    (await plantsOf(token)).map(({ name }) => name),
    ['Alder'],
  );
});

test('an import that a limit halted continues once there is room', async () => {
  const limited = await startService({ MAX_PLANTS_PER_USER: '4' });
  try {
    await browser.visit(limited, { at: AT }, async (page) => {
      await choose(page, named(7));
      await page.getByRole('button', { name: 'Import 7 plants' }).click();
      await page.getByText('You have 4 plants, which is the limit; delete one first.').waitFor();
      await page.getByText('4 plants were added; 3 rows were not sent.').waitFor();
      for (const id of [1, 2, 3]) {
        succeeded(await limited.request('DELETE', `/plants/${id}`), 204);
      }
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('Done. 7 plants were added.').waitFor();
    });
  } finally {
    await limited.stop();
  }
});

test('the progress of an import can be seen in the colours of a high contrast theme', async () => {
  const token = await service.tokenFor('contrast');
  await browser.visit(service, { at: AT, token }, async (page) => {
    await choose(page, named(1));
    await page.getByRole('button', { name: 'Import 1 plant' }).click();
    await page.getByText('Done.').waitFor();
    await page.emulateMedia({ forcedColors: 'active' });
    const bar = page.getByRole('progressbar');
    const full = await bar.screenshot();
    await page.evaluate(`document.querySelector('progress').value = 0`);
    assert.ok(!full.equals(await bar.screenshot()));
  });
});

test('on every page the browser asks before the tab of an unfinished import is closed', async () => {
  const token = await service.tokenFor('wanderer');
  await browser.visit(service, { at: AT, token }, async (page) => {
    const sent = await intercept(page, addsPlant);
    await choose(page, named(8));
    await page.getByRole('button', { name: 'Import 8 plants' }).click();
    await sent.next(6);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('link', { name: '← Plants' }).click();
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload())');
    const question = await asked;
    assert.equal(question.type(), 'beforeunload');
    await question.dismiss();
    for (const route of sent.routes) await route.continue();
    await page.goBack();
    await page.getByText('Stopped. 6 plants were added; 2 rows were not sent.').waitFor();
  });
});

test('an import that halts while another page is open says so, and the browser still asks', async () => {
  const token = await service.tokenFor('elsewhere');
  await browser.visit(service, { at: AT, token }, async (page) => {
    const sent = await intercept(page, addsPlant);
    await choose(page, named(8));
    await page.getByRole('button', { name: 'Import 8 plants' }).click();
    await sent.next(6);
    await page.getByRole('link', { name: '← Plants' }).click();
    await page.getByRole('heading', { name: 'Plants', level: 1 }).waitFor();
    for (const route of sent.routes) {
      await route.fulfill({ status: 403, json: { error: 40300, message: 'Not with this token.' } });
    }
    await page.getByText('The import halted.').waitFor();
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload())');
    await (await asked).dismiss();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Done. 8 plants were added.').waitFor();
  });
});

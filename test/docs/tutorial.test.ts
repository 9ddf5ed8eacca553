import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { addPlant, blocksOf, copyProject, startNewcomer, turnTo } from '../../testkit/processes/newcomer.ts';

const TUTORIAL = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'tutorial.md'), 'utf8');
const PATIENCE_MS = 30_000;

test('the tutorial, with each block pasted and the console in a browser, works as written', async () => {
  await using cleanup = new AsyncDisposableStack();
  const place = copyProject();
  cleanup.defer(place.remove);
  const browser = await startBrowser();
  cleanup.defer(browser.stop);
  const [install, start = '', ...pasted] = blocksOf(TUTORIAL);
  assert.equal(install, 'npm ci\n');
  const newcomer = await startNewcomer(start, place);
  cleanup.defer(newcomer.stop);
  const blocks = pasted.values();
  const paste = () => newcomer.paste(blocks.next().value ?? '');

  await browser.visit(newcomer.service, {}, async (page) => {
    await addPlant(page, { Name: 'Alder', Tag: 'Alnus', Id: '5000' });

    await paste();
    assert.match(await paste(), /^HTTP\/1\.1 201 Created\r?\nlocation: \/plants\/5001\r?\n/);
    assert.equal(await paste(), shown('ID    NAME'));

    await paste();
    assert.equal(await paste(), '5002\n');
    await newcomer.verified(1);
    assert.equal(await paste(), shown('verified {"id":5002'));

    await paste();
    await newcomer.verified(631);
    assert.equal(await paste(), '631\n');

    assert.match(await paste(), /^631\n(?:.*\n)*evt_\S+ +plant\.created +pending +.* 631 +Hazel/);
    await turnTo(page, 'Deliveries');
    await page.getByRole('link', { name: 'Hazel' }).click();
    await page.getByText('The receiver refused the connection.').first().waitFor();
    await paste();
    await untilListening(newcomer.port);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Delivered', { exact: true }).waitFor();
  });
  await newcomer.verified(632);
  assert.equal(await paste(), shown('verified {"id":631'));

  assert.match(
    await paste(),
    /^Service +http.*\nAlive +yes\nReady +yes.*\nPlants .*\nWebhooks +1, all well; 0 waiting/,
  );
  const said = readFileSync(join(place.folder, 'stderr.log'), 'utf8');
  assert.match(said, /^Exported 634 plants of "admin" to plants\.csv\.$/m);
  assert.match(said, /^Backed up 634 plants to /m);
  await paste();
  assert.ok(!existsSync(join(place.folder, 'receiver.log')));
  assert.deepEqual([...blocks], []);
});

/** The output in the tutorial that starts like this. */
function shown(beginning: string): string {
  const found = [...TUTORIAL.matchAll(/^```text\n(.*?)^```/gms)].find(([, text]) =>
    text?.startsWith(beginning),
  );
  return found?.[1] ?? assert.fail(`The tutorial shows no output that begins with ${beginning}`);
}

/** A person takes longer to reach the browser than the receiver to start. */
async function untilListening(port: number): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const answer = await fetch(`http://127.0.0.1:${port}`).catch(() => undefined);
    if (answer) return void (await answer.text());
    await pause(20);
  }
  throw new Error('The receiver does not listen.');
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startBrowser } from '../../testkit/browser/browser.ts';
import { addPlant, blocksOf, copyProject, startNewcomer } from '../../testkit/processes/newcomer.ts';

const README = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
const INSTALL = 'npm ci && ';

test('the README names the two commands, and starts the service once', () => {
  const commands = blocksOf(README).join('').split('\n');
  for (const command of [`${INSTALL}npm start`, `${INSTALL}npm test`]) {
    assert.equal(commands.filter((line) => line === command).length, 1, command);
  }
  assert.equal(commands.filter((line) => line.includes('npm start')).length, 1);
});

test('the quick start of the README, pasted block by block and with the console in a browser, works as written', async () => {
  await using cleanup = new AsyncDisposableStack();
  const place = copyProject();
  cleanup.defer(place.remove);
  const browser = await startBrowser();
  cleanup.defer(browser.stop);
  const [start = '', create = '', subscribe = '', operate = '', count = '', look = '', end = '', tests] =
    blocksOf(README);
  assert.equal(tests, `${INSTALL}npm test\n`);
  const newcomer = await startNewcomer(start.replace(INSTALL, ''), place);
  cleanup.defer(newcomer.stop);

  const created = await newcomer.paste(create);
  const [, response = ''] = /^```http\n(.*?)^```/ms.exec(README) ?? [];
  const [status, location, , body] = response.split('\n');
  for (const line of [status, location, body]) assert.ok(created.includes(line ?? 'missing'), created);

  await newcomer.paste(subscribe);
  const operated = await newcomer.paste(operate);
  assert.match(readFileSync(join(place.folder, 'stderr.log'), 'utf8'), /\b630 rows added \(/);
  assert.deepEqual(operated.match(/(?<=^HTTP\/1\.1 )\d+/gm), ['200', '200', '204']);
  assert.deepEqual(
    operated.match(/(?<="id":)\d+/g),
    Array.from({ length: 10 }, (_, at) => String(at + 1)),
  );

  const said = await newcomer.verified(630);
  assert.equal(new Set(said.match(/(?<=^verified \{"id":)\d+/gm)).size, 630);
  assert.equal(await newcomer.paste(count), '630\n');

  await browser.visit(newcomer.service, {}, (page) => addPlant(page, { Name: 'Rowan' }));
  await newcomer.verified(631);
  assert.match(await newcomer.paste(look), /^verified \{"id":\d+,"name":"Rowan"\}\n$/);
  await newcomer.paste(end);
});

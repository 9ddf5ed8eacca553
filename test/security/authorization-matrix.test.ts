import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Answer, failed } from '../../testkit/service/answer.ts';
import { startService } from '../../testkit/service/service.ts';
import { type Belongings, makeBelongings } from './belongings.ts';
import { type Caller, makeCallers } from './callers.ts';
import { isFailure, type Row, rows } from './matrix.ts';
import { type Operation, servedOperations } from './operations.ts';
import { ask } from './requests.ts';
import { changed, readRows, removed, untilChoresAreDone } from './rows.ts';

// The first attempt of a delivery is an hour away, so that only the requests change rows.
const service = await startService({
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_RETRY_SCHEDULE: '1h',
  AUTH_FAILURE_LIMIT: '0',
});
after(() => service.stop());

const operations = (await servedOperations(service.url)).filter(({ isSecured }) => isSecured);
const { callers, owner } = await makeCallers(service);
let cells = 0;

for (const operation of operations) {
  const { operationId, method } = operation;
  const row = rows[operationId];
  if (row === undefined) continue;

  test(`${operationId} gives each caller what they may have, and changes nothing of the owner's for others`, async () => {
    const target = await makeTarget();
    // The owner comes last, since that request may delete things.
    for (const caller of callers) {
      await holdsFor(caller, { operation, row, target });
      cells++;
    }
  });

  test(`${operationId} reads a token only from the header`, async () => {
    const target = await makeTarget();
    const before = readRows(service.dataDir);
    const token = owner.replace('Bearer ', '');
    for (const name of ['access_token', 'token', 'authorization', 'bearer']) {
      const query = `?${name}=${token}`;
      failed(await ask(service, operation, target, { query, body: row.body }), 40100);
      failed(
        await ask(service, operation, target, { query, body: row.body, authorization: owner }),
        40003,
        new RegExp(name),
      );
    }
    for (const headers of [
      { cookie: `access_token=${token}; token=${token}` },
      { 'proxy-authorization': owner, 'x-authorization': owner, 'x-api-key': token },
    ]) {
      failed(await ask(service, operation, target, { headers, body: row.body }), 40100);
    }
    if (method === 'POST') {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      failed(await ask(service, operation, target, { headers, body: `access_token=${token}` }), 40100);
    }
    assert.deepEqual(changed(before, readRows(service.dataDir)), []);
  });
}

test('each operation has its row, and each row its operation', () => {
  assert.deepEqual(Object.keys(rows).sort(), operations.map(({ operationId }) => operationId).sort());
});

test('every cell was tried', () => {
  assert.equal(cells, operations.length * callers.length);
});

async function makeTarget(): Promise<Belongings> {
  await untilChoresAreDone(service);
  return makeBelongings(service, owner);
}

type Cell = { operation: Operation; row: Row; target: Belongings };

async function holdsFor(caller: Caller, { operation, row, target }: Cell): Promise<void> {
  const request = { authorization: caller.authorization(row), body: row.body };
  const what = `${operation.operationId} by ${caller.name}`;
  const before = readRows(service.dataDir);
  if (operation.method === 'GET') await headAnswersAlike();
  const answer = await ask(service, operation, target, request);
  const rowsNow = readRows(service.dataDir);

  const outcome = caller.outcome(row);
  if (isFailure(outcome)) {
    failed(answer, outcome);
    assert.deepEqual(changed(before, rowsNow), [], what);
  } else {
    assert.equal(answer.status, outcome, `${what}: ${answer.text}`);
    if (operation.method === 'GET') assert.deepEqual(changed(before, rowsNow), [], what);
    else if (caller.name !== 'the owner') assert.deepEqual(removed(before, rowsNow), [], what);
  }
  showsWhatItMay(answer);

  function showsWhatItMay({ text }: Answer): void {
    const { plant, marks } = target;
    const seesPlants = caller.seesPlants && !isFailure(outcome);
    if (row.showsPlants) assert.equal(text.includes(plant.name), seesPlants, `${what}: ${text}`);
    if (caller.name === 'the owner') return;
    const secret = marks.filter((mark) => mark !== plant.name || !seesPlants);
    for (const mark of secret) assert.ok(!text.includes(mark), `${what}: ${text}`);
  }

  async function headAnswersAlike(): Promise<void> {
    const [head, got] = [
      await ask(service, operation, target, { ...request, method: 'HEAD' }),
      await ask(service, operation, target, request),
    ];
    assert.equal(head.text, '', what);
    assert.equal(head.status, got.status, what);
    for (const name of ['content-type', 'www-authenticate', 'link', 'allow']) {
      assert.equal(head.headers.get(name), got.headers.get(name), `${what}: ${name}`);
    }
  }
}

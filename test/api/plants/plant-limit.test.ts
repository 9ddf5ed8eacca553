import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { failed, succeeded } from '../../../testkit/service/answer.ts';
import { type Service, startService } from '../../../testkit/service/service.ts';

let service: Service;
before(async () => {
  service = await startService({ MAX_PLANTS_PER_USER: '3' });
});
after(() => service.stop());

const add = (token: string, id?: number) =>
  service.request('POST', '/plants', { token, body: { name: 'Alder', id } });

test('a user cannot exceed the limit of plants, and others have their own', async () => {
  const [ann, bob] = [await service.tokenFor('ann'), await service.tokenFor('bob')];
  for (let id = 1; id <= 3; id++) succeeded(await add(ann, id), 201);
  failed(await add(ann), 40902, /3 plants/);
  // A repeated create still reports that the plant exists.
  failed(await add(ann, 3), 40900);
  succeeded(await add(bob), 201);
  await service.request('DELETE', '/plants/2', { token: ann });
  succeeded(await add(ann), 201);
  failed(await add(ann), 40902);
});

test('of concurrent creates only as many succeed as the limit allows', async () => {
  const token = await service.tokenFor('crowd');
  const answers = await Promise.all(Array.from({ length: 20 }, () => add(token)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 3);
  for (const answer of answers) if (answer.status !== 201) failed(answer, 40902);
});

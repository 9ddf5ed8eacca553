import { after, before, test } from 'node:test';
import { startReceiver } from '../../../testkit/receivers/receiver.ts';
import { NOWHERE } from '../../../testkit/service/webhook-client.ts';
import { LONG, type Person, placeholder, plant, startTwins, type Twins } from './twins.ts';

/** Webhooks, their deliveries and the feed: both stores answer the same, byte for byte. */

let twins: Twins;
before(async () => {
  twins = await startTwins();
});
after(() => twins.stop());

test('webhooks: created, changed, rotated, listed, deleted, and missing ones', async () => {
  const ann = await twins.user('ann of webhooks');
  const bob = await twins.user('bob of webhooks');
  const made: string[] = [];
  for (const body of WEBHOOKS) {
    made.push(placeholder('wh', await twins.ask(ann, { line: 'POST /webhooks', body })));
  }
  const [first = '', second = ''] = made;
  await twins.ask(ann, { line: 'GET /webhooks' });
  for (const who of [ann, bob]) {
    for (const id of [
      first,
      second,
      'wh_x',
      '%00',
      `wh_${'0'.repeat(26)}`,
      '%F0%9F%8C%B1',
      'x'.repeat(20_000),
    ]) {
      await twins.ask(who, { line: `GET /webhooks/${id}` });
      for (const body of PATCHES) await twins.ask(who, { line: `PATCH /webhooks/${id}`, body });
      for (const body of ['{}', '{"overlap":"1h"}', '{"overlap":0}', '{"overlap":-1}', '[]']) {
        await twins.ask(who, { line: `POST /webhooks/${id}/rotate-secret`, body });
      }
      await twins.ask(who, { line: `GET /webhooks/${id}/deliveries` });
      await twins.ask(who, { line: `GET /webhooks/${id}/deliveries/evt_x%00` });
      await twins.ask(who, { line: `GET /webhooks/${id}` });
    }
  }
  for (const id of [first, first, '%00']) await twins.ask(ann, { line: `DELETE /webhooks/${id}` });
  await twins.ask(ann, { line: 'GET /webhooks' });
});

const WEBHOOKS = [
  JSON.stringify({ url: NOWHERE }),
  JSON.stringify({ url: `${NOWHERE}?a=%20#x`, description: '\u0001"\\\u2028\u{1F331}', rate: 1 }),
  JSON.stringify({ url: NOWHERE, description: '', rate: 0 }),
  JSON.stringify({ url: NOWHERE, description: '\u{1F331}'.repeat(255) }),
  JSON.stringify({ url: NOWHERE, description: `${LONG}x` }),
  '{"url":"http://127.0.0.1:9/","description":"\\u0000"}',
  '{"url":"http://127.0.0.1:9/","rate":1e400}',
  '{"url":"http://10.0.0.1/"}',
  '{"url":"ftp://x"}',
  '{}',
];

const PATCHES = [
  '{}',
  '{"description":"\\u2028 \\u0001"}',
  '{"description":null}',
  '{"description":"\\ud800"}',
  '{"enabled":false}',
  '{"enabled":false}',
  '{"enabled":true}',
  '{"rate":5}',
  '{"rate":null}',
  `{"url":"${NOWHERE}changed"}`,
  '{"url":"http://10.0.0.1/"}',
  '{"secret":"x"}',
];

test('deliveries, attempts, redelivery, replay and the feed', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const ann = await twins.user('ann of deliveries');
  const bob = await twins.user('bob of deliveries');
  const made = await twins.ask(ann, { line: 'POST /webhooks', body: JSON.stringify({ url: receiver.url }) });
  const hook = `/webhooks/${placeholder('wh', made)}`;
  let event = '';
  for (const [i, text] of ['Alder', '\u0001"\\', '\u{1F331}\u2028', LONG].entries()) {
    receiver.usually({ status: i % 2 === 0 ? 204 : 500, body: `answer ${text}\u0000` });
    await twins.ask(ann, plant({ id: i, name: text, tag: text }));
    const state = i % 2 === 0 ? 'delivered' : 'pending';
    const list = await twins.askUntil(
      ann,
      { line: `GET ${hook}/deliveries?limit=1` },
      new RegExp(`"state":"${state}","attempts":1`),
    );
    event = placeholder('evt', list);
    const delivery = `${hook}/deliveries/${event}`;
    for (const who of [ann, bob]) await twins.ask(who, { line: `GET ${delivery}` });
  }
  for (const query of [
    'state=delivered',
    'state=pending',
    'state=held',
    'state=failed',
    'state=x',
    'limit=0',
    'cursor=x',
  ]) {
    await twins.ask(ann, { line: `GET ${hook}/deliveries?${query}` });
  }
  await twins.pages(ann, `${hook}/deliveries?limit=1`);
  await twins.pages(ann, `${hook}/deliveries?limit=1&state=delivered`);
  await twins.ask(ann, { line: `GET ${hook}` });
  await twins.ask(ann, { line: `PATCH ${hook}`, body: '{"enabled":false}' });
  await twins.ask(ann, { line: `POST ${hook}/test`, body: '{}' });
  await twins.ask(ann, { line: `GET ${hook}/deliveries` });
  for (const again of [event, 'evt_x', '%00']) {
    await twins.ask(ann, { line: `POST ${hook}/deliveries/${again}/redeliver`, body: '{}' });
    await twins.ask(bob, { line: `POST ${hook}/deliveries/${again}/redeliver`, body: '{}' });
  }
  for (const body of REPLAYS) await twins.ask(ann, { line: `POST ${hook}/replay`, body });
  // Replays run after their answer, in each service's own time; at the end all four plants and the test are held.
  const held = { line: `GET ${hook}/deliveries?state=held` };
  await twins.askUntil(ann, held, /(?:"state":"held".*){5}/s);
  await followFeed(ann);
  await followFeed(bob);
});

const REPLAYS = [
  '{"since":"2100-01-01T00:00:00Z"}',
  '{"since":"1970-01-01T00:00:00Z","state":"failed"}',
  '{"since":"1970-01-01T00:00:00Z","state":"delivered"}',
  '{"since":"0000-01-01T00:00:00Z"}',
  '{"since":"x"}',
  '{}',
];

async function followFeed(person: Person): Promise<void> {
  let cursor = '';
  for (let page = 0; page < 6; page++) {
    const answer = await twins.ask(person, { line: `GET /events?limit=2${cursor}` });
    cursor = `&cursor=${placeholder('cursor', answer)}`;
  }
  for (const wrong of ['x', 'evt_x.1', '0.1', '', '%00', `${cursor.slice('&cursor='.length)}x`]) {
    await twins.ask(person, { line: `GET /events?cursor=${wrong}` });
  }
}

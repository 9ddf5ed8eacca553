import assert from 'node:assert/strict';
import type { Receiver } from '../../testkit/receivers/receiver.ts';
import { eventually } from '../../testkit/service/eventually.ts';
import type { RawAnswer } from '../../testkit/sockets/raw-framing.ts';
import type { Canary } from './canaries.ts';
import type { Recorder } from './recorder.ts';

export type Usage = {
  recorder: Recorder;
  /** Where the service is. */
  url: string;
  authorization: string;
  receiver: Receiver;
  contents: Contents;
};

/** What a user stores: for a plant, a webhook, a receiver's answer, and an Idempotency-Key. */
export type Contents = Record<'name' | 'tag' | 'description' | 'query' | 'excerpt' | 'key', string>;

/** A secret that the service returned, with the request for it, and whether the store keeps it in clear text. */
export type GivenSecret = Canary & { to: string; isKept: boolean };

/** Uses every operation successfully, and a few unsuccessfully. */
export async function useEverything({
  recorder,
  url,
  authorization,
  ...usage
}: Usage): Promise<GivenSecret[]> {
  const { contents, receiver } = usage;
  const send = (method: string, path: string, body?: unknown, key?: string) =>
    recorder.request(method, path, { authorization, body, key });
  const webhook = { url: `${receiver.url}?key=${contents.query}`, description: contents.description };
  const made = await send('POST', '/webhooks', webhook, contents.key);
  await send('POST', '/webhooks', webhook, contents.key);
  await send('POST', '/webhooks', { ...webhook, rate: 1 }, contents.key);
  const { id, secret } = member(made, 'id', 'secret');
  const at = `/webhooks/${id}`;

  receiver.script({ status: 500, body: contents.excerpt });
  const plant = { id: 7, name: contents.name, tag: contents.tag };
  await send('POST', '/plants', plant, contents.key);
  await send('POST', '/plants', plant, contents.key);
  await send('POST', '/plants', plant);
  await send('POST', '/plants', { ...plant, name: 7 }, `${contents.key}-refused`);
  await receiver.receive(2);
  const event = await eventually('delivery', async () => {
    const [, found] =
      /"event":"(evt_\w+)".*?"state":"delivered"/.exec((await send('GET', `${at}/deliveries`)).text) ?? [];
    return found;
  });
  await send('GET', `${at}/deliveries/${event}`);
  await send('GET', `${at}/deliveries/evt_none`);
  await send('POST', `${at}/deliveries/${event}/redeliver`, {}, contents.key);
  await send('POST', `${at}/test`, {}, contents.key);
  await send('POST', `${at}/replay`, { since: '2026-01-01T00:00:00Z' }, contents.key);
  const rotated = await send('POST', `${at}/rotate-secret`, {}, contents.key);
  await send('POST', `${at}/rotate-secret`, {}, contents.key);

  const created = await send('POST', '/tokens', {}, contents.key);
  await send('POST', '/tokens', {}, contents.key);
  const { id: tokenId, token } = member(created, 'id', 'token');
  const ofToken = `/tokens/${tokenId}`;
  const replaced = await send('POST', `${ofToken}/rotate`, {}, contents.key);
  await send('POST', `${ofToken}/rotate`, {}, contents.key);
  await send('DELETE', ofToken);
  await send('DELETE', ofToken);

  for (const path of [
    '/tokens',
    '/webhooks',
    at,
    '/plants',
    '/plants?limit=1&fields=id,name,tag,owner',
    '/plants?limit=1&name=a',
    '/deliveries?limit=1',
    '/events',
    '/activity',
  ]) {
    await send('GET', path);
    await send('OPTIONS', path);
  }
  await send('PATCH', at, { description: `${contents.description} again` });
  recorder.answers.push({
    to: 'GET /events/stream',
    code: undefined,
    text: await followed(url, authorization),
  });
  await send('DELETE', '/plants/7');
  await send('DELETE', '/plants/7');
  return [
    { name: 'a created token', text: token, to: 'POST /tokens', isKept: false },
    {
      name: 'the token that replaced it',
      text: member(replaced, 'token').token,
      to: `POST ${ofToken}/rotate`,
      isKept: false,
    },
    { name: 'the secret of the webhook', text: secret, to: 'POST /webhooks', isKept: true },
    {
      name: 'the secret that replaced it',
      text: member(rotated, 'secret').secret,
      to: `POST ${at}/rotate-secret`,
      isKept: true,
    },
  ];
}

function member<K extends string>({ text }: RawAnswer, ...names: K[]): Record<K, string> {
  // The caller checks each member.
  const body = JSON.parse(text) as Record<K, string>;
  for (const name of names) assert.equal(typeof body[name], 'string', text);
  return body;
}

/** The start of the event stream, from the first event. */
async function followed(url: string, authorization: string): Promise<string> {
  const response = await fetch(`${url}/events/stream`, { headers: { authorization } });
  assert.ok(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const { value = '' } = await reader.read();
  await reader.cancel();
  return value;
}

import { isDeepStrictEqual } from 'node:util';
import type { Command } from '../commands.ts';
import { cursorIn } from '../fixtures.ts';
import { ask, expect, expectCode, expectStatus, post, type Stage } from '../stage.ts';
import type { Hook, Person } from '../world.ts';

type Of<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>;
type Chosen = { of: number; which: number };

export async function createWebhook(
  stage: Stage,
  person: Person,
  { description, rate, key }: Of<'createWebhook'>,
): Promise<void> {
  const members = {
    url: stage.ground.receiver,
    ...(description === undefined ? {} : { description }),
    ...(rate === undefined ? {} : { rate }),
  };
  const { answer, isFirst } = await post(stage, person, {
    operation: 'createWebhook',
    path: '/webhooks',
    body: JSON.stringify(members),
    ...(key === undefined ? {} : { key: `webhook-${key}` }),
  });
  if (!isFirst) return;
  expectStatus(answer, 201);
  const made: Hook = { id: JSON.parse(answer.text).id, members, isEnabled: true, deliveries: [] };
  expect(answer.headers.get('location') === `/webhooks/${made.id}`, 'Location is not the webhook');
  expectView(made, JSON.parse(answer.text));
  person.webhooks.push(made);
}

export async function changeWebhook(
  stage: Stage,
  person: Person,
  { patch, ...chosen }: Of<'changeWebhook'>,
): Promise<void> {
  const { hook, id } = choose(stage, person, chosen);
  const body = JSON.stringify(patch);
  const answer = await ask(stage, person, { operation: 'changeWebhook', path: `/webhooks/${id}`, body });
  if (!hook) return expectCode(answer, 40402);
  expectStatus(answer, 200);
  const { enabled, ...members } = patch;
  const changed = Object.entries({ ...hook.members, ...members }).filter(([, value]) => value !== null);
  // Null members of the patch are gone; the others have the members' types.
  hook.members = Object.fromEntries(changed) as Hook['members'];
  hook.isEnabled = enabled ?? hook.isEnabled;
  expectView(hook, JSON.parse(answer.text));
}

export async function readWebhooks(stage: Stage, person: Person, chosen: Chosen): Promise<void> {
  const all = await ask(stage, person, { operation: 'listWebhooks', path: '/webhooks' });
  const views: { id: string }[] = JSON.parse(all.text);
  const expected = person.webhooks.map(({ id }) => id);
  expect(
    isDeepStrictEqual(
      views.map((view) => view.id),
      expected,
    ),
    'these are not the webhooks',
  );
  for (const [i, hook] of person.webhooks.entries()) expectView(hook, views[i] ?? {});
  const { hook, id } = choose(stage, person, chosen);
  const one = await ask(stage, person, { operation: 'getWebhook', path: `/webhooks/${id}` });
  if (hook) expectView(hook, JSON.parse(one.text));
  else expectCode(one, 40402);
}

export async function testWebhook(stage: Stage, person: Person, chosen: Chosen): Promise<void> {
  const { hook, id } = choose(stage, person, chosen);
  const answer = await ask(stage, person, { operation: 'testWebhook', path: `/webhooks/${id}/test` });
  if (!hook) return expectCode(answer, 40402);
  expectStatus(answer, 202);
  hook.deliveries?.push(JSON.parse(answer.text).plant.name);
}

export async function deleteWebhook(stage: Stage, person: Person, chosen: Chosen): Promise<void> {
  const { hook, id } = choose(stage, person, chosen);
  const answer = await ask(stage, person, { operation: 'deleteWebhook', path: `/webhooks/${id}` });
  if (!hook) return expectCode(answer, 40402);
  expectStatus(answer, 204);
  person.webhooks.splice(person.webhooks.indexOf(hook), 1);
}

/** Expects a delivery for each plant that was visible when created, newest first. */
export async function listDeliveries(
  stage: Stage,
  person: Person,
  { limit, ...chosen }: Of<'listDeliveries'>,
): Promise<void> {
  const { hook, id } = choose(stage, person, chosen);
  const found: { event: string; plant: { name: string } }[] = [];
  let cursor = '';
  do {
    const query = `limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const path = `/webhooks/${id}/deliveries`;
    const answer = await ask(stage, person, { operation: 'listDeliveries', path, query });
    if (!hook) return expectCode(answer, 40402);
    expectStatus(answer, 200);
    found.push(...JSON.parse(answer.text));
    cursor = cursorIn(answer);
  } while (cursor !== '');
  for (const [i, { event }] of found.entries()) {
    expect(i === 0 || event < (found[i - 1]?.event ?? ''), 'deliveries that are not newest first');
  }
  if (!hook?.deliveries) return;
  const names = found.map(({ plant }) => plant.name);
  expect(isDeepStrictEqual(names, hook.deliveries.toReversed()), `${hook.deliveries} should have been sent`);
}

/** The deliveries of all webhooks: those that each webhook's own list has, newest first. */
export async function listAllDeliveries(
  stage: Stage,
  person: Person,
  { limit }: Of<'listAllDeliveries'>,
): Promise<void> {
  const found: { webhook: string; event: string; plant: { name: string } }[] = [];
  let cursor = '';
  do {
    const query = `limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const answer = await ask(stage, person, { operation: 'listAllDeliveries', path: '/deliveries', query });
    expectStatus(answer, 200);
    found.push(...JSON.parse(answer.text));
    cursor = cursorIn(answer);
  } while (cursor !== '');
  const places = found.map(({ event, webhook }) => `${event} ${webhook}`);
  expect(isDeepStrictEqual(places, places.toSorted().reverse()), 'deliveries that are not newest first');
  for (const { id, deliveries } of person.webhooks) {
    const names = found.filter(({ webhook }) => webhook === id).map(({ plant }) => plant.name);
    const isRight = deliveries === undefined || isDeepStrictEqual(names, deliveries.toReversed());
    expect(isRight, `${deliveries} should have been sent to ${id}`);
  }
  const own = new Set(person.webhooks.map(({ id }) => id));
  expect(
    found.every(({ webhook }) => own.has(webhook)),
    'a delivery of a webhook that does not exist',
  );
}

/** Chooses a webhook; `hook` is undefined when it is not the person's own, or does not exist. */
function choose(
  { world }: Stage,
  person: Person,
  { of, which }: Chosen,
): { hook: Hook | undefined; id: string } {
  const target = of < 4 ? person : (world.people[of % world.people.length] ?? person);
  const hook = target.webhooks[which % Math.max(1, target.webhooks.length)];
  return { hook: target === person ? hook : undefined, id: hook?.id ?? 'wh_none' };
}

function expectView(hook: Hook, view: Record<string, unknown>): void {
  const { url, description, rate, status, id } = view;
  const { members } = hook;
  const expected = [
    hook.id,
    members.url,
    members.description,
    members.rate,
    hook.isEnabled ? 'enabled' : 'disabled',
  ];
  const found = [id, url, description, rate, status];
  expect(isDeepStrictEqual(found, expected), `the webhook should be ${JSON.stringify(expected)}`);
}

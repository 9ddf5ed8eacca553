import { isDeepStrictEqual } from 'node:util';
import { scopes } from '../../src/access/scopes.ts';
import { codeOf } from '../../testkit/contract/answers.ts';
import { parseExact } from '../../testkit/contract/json-exact.ts';
import { draftOf, withJson } from './draft.ts';
import { cursorIn, type Fixtures, PLANTS } from './fixtures.ts';
import type { Answered, Ground } from './ground.ts';
import type { Valid } from './mutations/valid.ts';

/** Checks the effect of a valid request; resolves with a problem, or undefined. */
export type Outcome = {
  /** Runs before the request, for example to create what it deletes. */
  prepare?(lane: Lane, valid: Valid): Promise<Valid>;
  judge(lane: Lane, valid: Valid, answer: Answered): Promise<string | undefined> | string | undefined;
  /** A final check, when the lane has sent everything. */
  final?(lane: Lane): Promise<string | undefined>;
};

export type Lane = { ground: Ground; fixtures: Fixtures };

/** Outcomes by operation. An operation without one fails the run. */
export const outcomes: Readonly<Record<string, Outcome>> = {
  createPlant: {
    async judge({ fixtures: { plants } }, { members }, answer) {
      const { id, ...plant } = saidBy(members);
      if (id !== undefined && plants.has(String(id))) return expectCode(answer, 40900);
      if (answer.status !== 201) return 'the plant was not created';
      if (!isDeepStrictEqual(parseExact(answer.text), plant)) return 'the plant is not as it was sent';
      const given = /^\/plants\/(0|-?[1-9]\d*)$/.exec(answer.headers.get('location') ?? '')?.[1];
      if (given === undefined || plants.has(given)) return 'Location has no id, or one that was taken';
      if (id !== undefined && given !== String(id)) return 'Location has another id';
      plants.add(given);
      return undefined;
    },
    final: samePlants,
  },
  listPlants: {
    judge(_lane, { draft, query }, answer) {
      if (draft.fields.includes('If-None-Match: *')) return expectStatus(answer, 304);
      const { limit = Infinity, fields = 'name,tag', cursor } = query;
      const from = cursor === undefined ? 0 : 2;
      const listed = inOrder(query);
      const page = listed.slice(from, from + Number(limit));
      const rows = parseExact(answer.text);
      const chosen = fields.split(',');
      // The owner's name differs by lane.
      const expected = page.map((id) =>
        pick(chosen, { id: BigInt(id), name: `Plant ${id}`, tag: 't', owner: 'x' }),
      );
      const found = (Array.isArray(rows) ? rows : []).map((row) =>
        'owner' in row ? { ...row, owner: 'x' } : row,
      );
      if (!isDeepStrictEqual(found, expected)) return 'these are not the plants';
      const hasMore = from + page.length < listed.length;
      return hasMore === (cursorIn(answer) !== '') ? undefined : 'Link does not tell whether there are more';
    },
  },
  deletePlant: {
    async prepare(lane, valid) {
      const { id = '' } = valid.params;
      const { fixtures } = lane;
      // The other ids exist.
      if (fixtures.plants.has(id) || BigInt(id) % 2n !== 0n) return valid;
      const made = await ask(lane, 'POST', '/plants', `{"name":"Alder","id":${id}}`);
      if (made.status === 201) fixtures.plants.add(id);
      return valid;
    },
    judge({ fixtures: { plants } }, { params: { id = '' } }, answer) {
      return plants.delete(id) ? expectStatus(answer, 204) : expectCode(answer, 40401);
    },
    final: samePlants,
  },
  createWebhook: {
    async judge(lane, { members }, answer) {
      if (answer.status !== 201) return 'the webhook was not created';
      const { id, secret, status, ...made } = JSON.parse(answer.text);
      if (!/^whsec_.{32,}$/.test(secret) || status !== 'enabled')
        return 'a new webhook is enabled and has a secret';
      const removed = await ask(lane, 'DELETE', `/webhooks/${id}`);
      if (removed.status !== 204) return 'the new webhook cannot be deleted';
      if (answer.headers.get('location') !== `/webhooks/${id}`) return 'Location is not the webhook';
      return sameMembers(made, saidBy(members));
    },
    final: sameWebhooks,
  },
  listWebhooks: {
    judge({ fixtures }, _valid, answer) {
      return isDeepStrictEqual(idsIn(answer), fixtures.webhooks) ? undefined : 'these are not the webhooks';
    },
  },
  getWebhook: {
    judge(_lane, { params }, answer) {
      return answer.status === 200
        ? sameMembers(JSON.parse(answer.text), params)
        : 'the webhook is not found';
    },
  },
  changeWebhook: {
    judge(_lane, { params, members }, answer) {
      if (answer.status !== 200) return 'the webhook was not changed';
      const { enabled, ...others } = saidBy(members);
      const status = enabled === undefined ? {} : { status: enabled ? 'enabled' : 'disabled' };
      return sameMembers(JSON.parse(answer.text), { ...params, ...others, ...status });
    },
  },
  deleteWebhook: {
    async prepare(lane, valid) {
      const made = await ask(lane, 'POST', '/webhooks', { url: lane.ground.receiver });
      const { id } = JSON.parse(made.text);
      return { ...valid, params: { id }, draft: { ...valid.draft, path: `/webhooks/${id}` } };
    },
    async judge(lane, { params }, answer) {
      const again = await ask(lane, 'DELETE', `/webhooks/${params.id}`);
      return expectStatus(answer, 204) ?? expectCode(again, 40402);
    },
    final: sameWebhooks,
  },
  rotateSecret: {
    async judge(lane, { params, members }, answer) {
      if (answer.status === 409) {
        const again = await ask(lane, 'POST', `/webhooks/${params.id}/rotate-secret`, { overlap: 0 });
        return expectCode(answer, 40902) ?? expectStatus(again, 200);
      }
      if (answer.status !== 200) return 'the secret was not rotated';
      const { overlap = 86_400n } = saidBy(members);
      const { overlapUntil } = JSON.parse(answer.text);
      const asked = lane.ground.now() + Number(overlap) * 1000;
      return Math.abs(Date.parse(overlapUntil) - asked) < 60_000 ? undefined : 'the overlap is another';
    },
  },
  testWebhook: {
    judge: (_lane, { params }, answer) => acceptedDelivery(answer, params.id, { type: 'plant.test' }),
  },
  redeliver: {
    judge: (_lane, { params }, answer) => acceptedDelivery(answer, params.id, { event: params.event }),
  },
  getDelivery: {
    judge: (_lane, { params }, answer) => sameMembers(JSON.parse(answer.text), { event: params.event }),
  },
  listDeliveries: {
    judge({ fixtures: { events, webhooks } }, { params, query }, answer) {
      if (answer.status !== 200) return 'the deliveries are not there';
      const { limit = 100, state, cursor } = query;
      const rows: { event: string; state: string }[] = JSON.parse(answer.text);
      if (rows.some((row) => state !== undefined && row.state !== state))
        return 'a delivery is in another state';
      if (params.id !== webhooks[0] || (state !== undefined && state !== 'held')) return undefined;
      const from = cursor === undefined ? 0 : 2;
      const newestFirst = events.toReversed().slice(from, from + Number(limit));
      const found = rows.map(({ event }) => event);
      return isDeepStrictEqual(found, newestFirst) ? undefined : 'these are not the deliveries, newest first';
    },
  },
  listAllDeliveries: {
    judge({ fixtures: { events, webhooks } }, { query }, answer) {
      const { limit = 100, webhook, state, plant, since = '1999', until = '2099', cursor } = query;
      const rows: { webhook: string; event: string; state: string }[] = JSON.parse(answer.text);
      if (rows.some((row) => state !== undefined && row.state !== state))
        return 'a delivery is in another state';
      const [held, open] = webhooks;
      if (state !== undefined && state !== 'held') return undefined;
      const wanted = [held, state === 'held' ? undefined : open].filter(
        (id) => webhook === undefined || id === webhook,
      );
      const isBounded = since < '2026' && until > '2026';
      const all = (isBounded ? events.toReversed() : []).flatMap((event) =>
        plant === undefined || PLANTS[events.indexOf(event)] === plant
          ? wanted
              .flatMap((id) => (id === undefined ? [] : `${event} ${id}`))
              .sort()
              .reverse()
          : [],
      );
      const from = cursor === undefined ? 0 : 2;
      const found = rows.map((row) => `${row.event} ${row.webhook}`);
      return isDeepStrictEqual(found, all.slice(from, from + Number(limit)))
        ? undefined
        : 'these are not the deliveries, newest first';
    },
  },
  replay: {
    judge({ fixtures: { webhooks, events } }, { params, members }, answer) {
      // The limit of concurrent replays may be reached.
      if (answer.status === 409) return expectCode(answer, 40902);
      if (answer.status !== 202) return 'the replay was not taken';
      const { since, state } = saidBy(members);
      const { count } = JSON.parse(answer.text);
      const isAll = state === undefined && Date.parse(String(since).toUpperCase()) < Date.now() - 86_400_000;
      if (isAll && params.id !== webhooks[2] && count !== events.length) return 'the count is another';
      return undefined;
    },
  },
  listEvents: {
    judge({ fixtures }, { query }, answer) {
      const from = query.cursor === undefined ? 0 : 2;
      const expected = fixtures.events.slice(from, from + Number(query.limit ?? 100));
      const { events }: { events: { id: string }[] } = JSON.parse(answer.text);
      const found = events.map(({ id }) => id);
      return isDeepStrictEqual(found, expected) ? undefined : 'these are not the events, oldest first';
    },
  },
  getActivity: {
    judge({ fixtures: { events } }, { query }, answer) {
      const { hours }: { hours: { plants: number }[] } = JSON.parse(answer.text);
      if (hours.length !== Number(query.hours ?? 24)) return 'these are not the hours that were asked for';
      const plants = hours.reduce((sum, hour) => sum + hour.plants, 0);
      return plants > events.length ? 'there were not so many plants' : undefined;
    },
  },
  getMe: {
    judge(_lane, _valid, answer) {
      const { user, scopes: found } = JSON.parse(answer.text);
      return typeof user === 'string' && isDeepStrictEqual(found, scopes)
        ? undefined
        : 'this is somebody else';
    },
  },
  listTokens: {
    judge({ fixtures }, _valid, answer) {
      return isDeepStrictEqual(idsIn(answer), fixtures.tokenIds) ? undefined : 'these are not the tokens';
    },
  },
  createToken: {
    async judge(lane, { members }, answer) {
      if (answer.status !== 201) return 'the token was not created';
      const { label = '', scopes: chosen = scopes, expiresIn } = saidBy(members);
      const { id, token, createdAt, expiresAt, scopes: found, ...made } = JSON.parse(answer.text);
      const seen = await askAs(lane, token, 'GET', '/me');
      const removed = await ask(lane, 'DELETE', `/tokens/${id}`);
      if (removed.status !== 204) return 'the new token cannot be revoked';
      const lifetime = expiresAt && BigInt(Date.parse(expiresAt) - Date.parse(createdAt)) / 1000n;
      if (lifetime !== expiresIn) return 'the token ends at another time';
      const asked = scopes.filter((scope) => [chosen].flat().includes(scope));
      if (!isDeepStrictEqual([found, JSON.parse(seen.text).scopes], [asked, asked]))
        return 'it has other scopes';
      return sameMembers(made, { label });
    },
    final: sameTokens,
  },
  rotateToken: {
    prepare: withNewToken,
    async judge(lane, { params, members }, answer) {
      if (answer.status !== 200) return 'the token was not rotated';
      const { id, token, overlapUntil, createdAt } = JSON.parse(answer.text);
      const again = await ask(lane, 'POST', `/tokens/${params.id}/rotate`, {});
      const seen = await askAs(lane, token, 'GET', '/plants');
      const { overlap = 86_400n } = saidBy(members);
      // One without an overlap has ended.
      const code = overlap === 0n ? 40404 : 40902;
      for (const one of overlap === 0n ? [id] : [id, params.id]) await ask(lane, 'DELETE', `/tokens/${one}`);
      if (Date.parse(overlapUntil) - Date.parse(createdAt) !== Number(overlap) * 1000)
        return 'the overlap is another';
      return expectCode(again, code) ?? expectStatus(seen, 200);
    },
    final: sameTokens,
  },
  revokeToken: {
    prepare: withNewToken,
    async judge(lane, { params }, answer) {
      const again = await ask(lane, 'DELETE', `/tokens/${params.id}`);
      return expectStatus(answer, 204) ?? expectCode(again, 40404);
    },
    final: sameTokens,
  },
  streamEvents: {
    judge({ fixtures: { cursors } }, { draft }, answer) {
      const [, start] = /^id: (\S+)\nretry: \d+\n\n/.exec(answer.text) ?? [];
      const isBehind = draft.fields.some((field) => field.startsWith('Last-Event-ID'));
      if (start === undefined) return 'the stream does not begin with where it stands';
      return isBehind && start !== cursors.events ? 'the stream begins elsewhere' : undefined;
    },
  },
};

function saidBy(members: Valid['members']): Record<string, unknown> {
  return Object.fromEntries(members.map(({ name, value }) => [name, value]));
}

function pick(names: readonly string[], from: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}

/** Whether the members have these values; null means absent. */
function sameMembers(found: Record<string, unknown>, expected: Record<string, unknown>): string | undefined {
  for (const [name, value] of Object.entries(expected)) {
    const wanted = typeof value === 'bigint' ? Number(value) : (value ?? undefined);
    if (found[name] !== wanted) return `the member ${name} is another`;
  }
  return undefined;
}

function acceptedDelivery(answer: Answered, webhook: string | undefined, members: Record<string, unknown>) {
  if (answer.status !== 202) return 'the delivery was not taken';
  const delivery = JSON.parse(answer.text);
  const location = `/webhooks/${webhook}/deliveries/${delivery.event}`;
  if (answer.headers.get('location') !== location) return 'Location is not the delivery';
  return sameMembers(delivery, members);
}

function expectStatus(answer: Answered, status: number): string | undefined {
  return answer.status === status ? undefined : `${status} was expected`;
}

function expectCode(answer: Answered, code: number): string | undefined {
  return codeOf(answer) === code ? undefined : `${code} was expected`;
}

function idsIn(answer: Answered): string[] {
  return JSON.parse(answer.text).map(({ id }: { id: string }) => id);
}

function ask(lane: Lane, method: string, path: string, body?: unknown): Promise<Answered> {
  return askAs(lane, lane.fixtures.tokens.full, method, path, body);
}

function askAs(
  { ground, fixtures }: Lane,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered> {
  const [pure = '', query = ''] = path.split('?');
  const draft = { ...draftOf(method, pure, token), query };
  return ground.send(fixtures.client, body === undefined ? draft : withJson(draft, body), undefined);
}

/** The same request for a token created for it. */
async function withNewToken(lane: Lane, valid: Valid): Promise<Valid> {
  const { id } = JSON.parse((await ask(lane, 'POST', '/tokens', {})).text);
  const path = valid.draft.path.split('/').with(2, id).join('/');
  return { ...valid, params: { id }, draft: { ...valid.draft, path } };
}

async function sameTokens(lane: Lane): Promise<string | undefined> {
  const found = idsIn(await ask(lane, 'GET', '/tokens'));
  return isDeepStrictEqual(found, lane.fixtures.tokenIds) ? undefined : 'the tokens are others in the end';
}

/** Checks that refused requests changed nothing. */
async function samePlants(lane: Lane): Promise<string | undefined> {
  const rows = parseExact((await ask(lane, 'GET', '/plants?fields=id')).text);
  const found = Array.isArray(rows) ? rows.map(({ id }) => String(id)) : [];
  const expected = [...lane.fixtures.plants].map(BigInt).sort((a, b) => (a < b ? -1 : 1));
  return isDeepStrictEqual(found, expected.map(String)) ? undefined : 'in the end other plants are there';
}

async function sameWebhooks(lane: Lane): Promise<string | undefined> {
  const found = idsIn(await ask(lane, 'GET', '/webhooks'));
  return isDeepStrictEqual(found, lane.fixtures.webhooks) ? undefined : 'in the end other webhooks are there';
}

/** Ids of the plants, as the list has them. */
function inOrder({ name, order, from }: Readonly<Record<string, string>>): readonly string[] {
  const isIn = (id: string) =>
    from === undefined || (order === 'desc' ? BigInt(id) <= BigInt(from) : BigInt(id) >= BigInt(from));
  if (order === 'desc') return PLANTS.filter(isIn).toReversed();
  if (name === undefined) return PLANTS.filter(isIn);
  return 'plant'.startsWith(name.toLowerCase()) ? [...PLANTS].sort() : [];
}

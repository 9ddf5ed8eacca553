import type { IncomingHttpHeaders } from 'node:http';
import { plantJson } from '../../crash/ledger.ts';
import { ask } from '../../load/client.ts';
import { monotonicMs } from '../../measure/clock.ts';
import type { Create, Entry, FeedEvent, Page, Sent } from './history.ts';

/** Each sends one request, records it with its answer, and never rejects. */
export type Requests = {
  /** Not recorded. */
  send(method: string, path: string, options?: SendOptions): Promise<Reply>;
  create(plant: NewPlant, via?: number): Promise<Create>;
  remove(id: string): Promise<void>;
  page(page: PageRequest, via?: number): Promise<Page & { next: string | undefined }>;
  /** Reads on; undefined when there was no answer. */
  feed(follower: Follower, limit: number, via?: number): Promise<FeedEvent[] | undefined>;
  subscribe(webhook: number, url: string, key: string): Promise<Made | undefined>;
  createToken(token: number): Promise<Made | undefined>;
  /** True when the token is gone. */
  revoke(token: number, id: string): Promise<true | undefined>;
  use(token: number, secret: string, via: number): Promise<void>;
  /** How many were sent. */
  count(): number;
  /** Another replica than this one, if there are several. */
  otherThan(via: number): number;
};

export type Made = { id: string; secret: string };
export type SendOptions = { body?: string; key?: string | undefined; token?: string; via?: number };
export type Reply = Sent & { text: string; headers: IncomingHttpHeaders };
export type NewPlant = Pick<Create, 'name' | 'tag' | 'id' | 'key'>;
export type PageRequest = Pick<Page, 'walk' | 'reader' | 'isDescending'> & { path: string };
/** `cursor` moves on with each answer. */
export type Follower = { follower: number; cursor: string; isFinal: boolean };

type FeedPage = { events: { id: string; plant: Omit<FeedEvent, 'event'> }[]; cursor: string };

export type RequestsOptions = {
  urls: readonly string[];
  tokens: { owner: string; viewer: string };
  random: () => number;
  record(entry: Entry): void;
};

/** Longer than the service takes for any answer, its 50301 included. */
const PATIENCE_MS = 8_000;

export function createRequests(options: RequestsOptions): Requests {
  const { urls, tokens, record } = options;
  const { send, anywhere, count } = createSender(options);
  return {
    send,
    count,
    otherThan: (via) => (via + 1) % urls.length,
    async create(plant, via = anywhere()) {
      const { id, name, tag, key } = plant;
      const body = plantJson({ id: id === undefined ? id : BigInt(id), name, tag });
      const reply = await send('POST', '/plants', { body, key, via });
      const entry: Create = { kind: 'create', ...plant, ...sentOf(reply), ...createdIn(reply) };
      record(entry);
      return entry;
    },
    async remove(id) {
      record({ kind: 'delete', id, ...sentOf(await send('DELETE', `/plants/${id}`)) });
    },
    async page({ path, ...page }, via = anywhere()) {
      const reply = await send('GET', path, { token: tokens[page.reader], via });
      const next = /<([^>]*)>; rel="next"/.exec(String(reply.headers.link))?.[1];
      const plants = reply.status === 200 ? exactly(reply.text) : [];
      const entry: Page = { kind: 'page', ...page, ...sentOf(reply), isLast: next === undefined, plants };
      record(entry);
      return { ...entry, next };
    },
    async feed(at, limit, via = anywhere()) {
      const query = `limit=${limit}${at.cursor && `&cursor=${at.cursor}`}`;
      const reply = await send('GET', `/events?${query}`, { via });
      const isRead = reply.status === 200;
      const page: FeedPage = isRead ? exactly(reply.text) : { events: [], cursor: at.cursor };
      const events = page.events.map(({ id, plant }) => ({ event: id, ...plant }));
      record({ kind: 'feed', follower: at.follower, isFinal: at.isFinal, ...sentOf(reply), events });
      at.cursor = page.cursor;
      return isRead ? events : undefined;
    },
    async subscribe(webhook, url, key) {
      const reply = await send('POST', '/webhooks', { body: JSON.stringify({ url }), key });
      record({ kind: 'webhook', webhook, ...sentOf(reply) });
      return reply.status === 201 ? JSON.parse(reply.text) : undefined;
    },
    async createToken(token) {
      const reply = await send('POST', '/tokens', { body: '{"scopes":["plants:read"]}' });
      record({ kind: 'token', token, ...sentOf(reply) });
      if (reply.status !== 201) return undefined;
      const { id, token: secret } = JSON.parse(reply.text);
      return { id, secret };
    },
    async revoke(token, id) {
      const reply = await send('DELETE', `/tokens/${id}`);
      record({ kind: 'revoke', token, ...sentOf(reply) });
      return reply.status === 204 || reply.code === 40404 || undefined;
    },
    async use(token, secret, via) {
      const reply = await send('GET', '/plants?limit=1', { token: secret, via });
      record({ kind: 'use', token, ...sentOf(reply) });
    },
  };
}

type Sender = Pick<Requests, 'send' | 'count'> & { anywhere(): number };

function createSender({ urls, tokens, random }: RequestsOptions): Sender {
  let sent = 0;
  const anywhere = () => Math.floor(random() * urls.length);

  async function send(method: string, path: string, options: SendOptions = {}): Promise<Reply> {
    const { token = tokens.owner, key, body, via = anywhere() } = options;
    const op = ++sent;
    const begin = monotonicMs();
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    try {
      const request = { method, token, headers, signal, ...(body === undefined ? {} : { body }) };
      const { status, headers: fields, body: text } = await ask(`${urls[via]}${path}`, request);
      const code = status >= 400 ? codeIn(text) : undefined;
      const end = monotonicMs();
      return { op, begin, end, via, status, ...(code ? { code } : {}), text, headers: fields };
    } catch {
      return { op, begin, end: monotonicMs(), via, status: 0, text: '', headers: {} };
    }
  }

  return { send, anywhere, count: () => sent };
}

function sentOf({ text: _, headers: __, ...sent }: Reply): Sent {
  return sent;
}

function createdIn({ status, headers, text }: Reply): Partial<Create> {
  const replayed = headers['idempotent-replayed'] === 'true' ? { replayed: true } : {};
  if (status !== 201) return replayed;
  const created = /\/plants\/(-?\d+)$/.exec(headers.location ?? '')?.[1];
  return { ...replayed, ...(created === undefined ? {} : { created }), shown: JSON.parse(text) };
}

function codeIn(text: string): number | undefined {
  try {
    return Number(JSON.parse(text).error);
  } catch {
    // A proxy answered.
    return undefined;
  }
}

/** With plant ids as text: some have more digits than a JavaScript number. */
export function exactly(text: string) {
  return JSON.parse(text.replaceAll(/"id":(-?\d+)/g, '"id":"$1"'));
}

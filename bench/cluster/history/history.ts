import { readFileSync } from 'node:fs';

/**
 * What one run saw, one JSON object a line, in the order in which the lines became known. All times are those of one
 * monotonic clock, in milliseconds. Ids are decimal text, exact to the last digit.
 */
export type Entry =
  | Create
  | Delete
  | Page
  | Feed
  | Subscription
  | NewToken
  | Revoke
  | Use
  | Share
  | Delivery
  | Start
  | Settled;

/** First. `run` begins the name of each plant of the run: others are of no concern. */
export type Start = { kind: 'start'; run: string; seed: number; replicas: number };

/** What every request has. */
export type Sent = {
  op: number;
  begin: number;
  end: number;
  /** Which of the base URLs it went to. */
  via: number;
  /** 0: no complete answer arrived. */
  status: number;
  /** The `error` of a failure; absent when something before the service answered. */
  code?: number;
};

/** A request with the body of an earlier one repeats its name and key. */
export type Create = Sent & {
  kind: 'create';
  name: string;
  tag?: string;
  /** Chosen by the client. */
  id?: string;
  key?: string;
  /** From `Location`. */
  created?: string;
  replayed?: boolean;
  /** The body of a 201. */
  shown?: { name: string; tag?: string };
};

export type Delete = Sent & { kind: 'delete'; id: string };

export type Listed = { id: string; name: string };

/** A page of a walk; a whole list is a walk of one page. */
export type Page = Sent & {
  kind: 'page';
  walk: number;
  reader: 'owner' | 'viewer';
  isDescending: boolean;
  isLast: boolean;
  plants: Listed[];
};

export type FeedEvent = { event: string; id: string; name: string; tag?: string };

/** All followers begin at the same cursor. The final ones read all of the feed after the last write. */
export type Feed = Sent & { kind: 'feed'; follower: number; isFinal: boolean; events: FeedEvent[] };

/** A webhook of the owner is created. */
export type Subscription = Sent & { kind: 'webhook'; webhook: number };

/** A token of the owner is created. */
export type NewToken = Sent & { kind: 'token'; token: number };

export type Revoke = Sent & { kind: 'revoke'; token: number };

/** A list with a token that is revoked sooner or later. */
export type Use = Sent & { kind: 'use'; token: number };

/** The owner's plants are shared with the viewer from now on, or no longer. */
export type Share = { kind: 'share'; isShared: boolean; begin: number; end: number; isDone: boolean };

/** An attempt, as the receiver saw and answered it. */
export type Delivery = FeedEvent & {
  kind: 'delivery';
  webhook: number;
  begin: number;
  status: number;
  isGenuine: boolean;
};

/** Last: whether no delivery was waiting any more. */
export type Settled = { kind: 'settled'; begin: number; end: number; isQuiet: boolean };

export function readHistory(file: string): Entry[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

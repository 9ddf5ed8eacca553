import { failureOf } from '../../../src/webhooks/sending/attempt.ts';
import type { Ground, Replica } from '../replica.ts';
import { type DeliveryRow, isVisible, type WebhookRow } from '../stores/memory-rows.ts';
import type { Send } from './send.ts';

/**
 * Checks during a run that no lane stands still that could continue, and that requested deliveries are not kept
 * waiting.
 */
export type Progress = {
  onFault(): void;
  onAsked(webhook: WebhookRow, event: string): void;
  /** How many lanes, and how many with requests, were checked: a check that never applies proves nothing. */
  judged(): { lanes: number; asked: number };
};

const LOOK_MS = 500;
/** By then the consequences of a fault are over: a lease, a hanging request, a careful lane. */
const CALM_MS = 25_000;
const WELL_MS = 20_000;
/** How long an unobstructed lane may take: a few calls to the store. */
const STILL_MS = 2_000;
const STALE_MS = 8_000;
const ASKED_MS = 1_000;

export function watchProgress(ground: Ground, replicas: readonly Replica[]): Progress {
  const { scenario, time, rows, receivers, witness } = ground;
  const { rules, faults } = scenario;
  const rereadMs = Math.max(rules.rereadMs, scenario.webhooks * rules.rereadEachMs);
  const lostMs = rules.searchMs + rereadMs + STILL_MS;
  const slowMs = (faults.stale > 0 ? STALE_MS : 0) + (faults.lostHints > 0 ? lostMs : 0);
  const changes = new Map<string, { version: number; at: number }>();
  const judged = { lanes: 0, asked: 0 };
  let faultAt = scenario.start;
  let fullAt = -Infinity;

  function look(): void {
    const now = time.now();
    if (replicas.some(({ name }) => isFull(name))) fullAt = now;
    for (const webhook of rows.webhooks.values()) {
      noteChange(webhook);
      if (webhook.status === 'enabled' && mayBeJudged(webhook)) judge(webhook);
    }
    time.at(now + LOOK_MS, look);
  }

  /** Whether no slot is free, or none for one of the owners. */
  function isFull(process: string): boolean {
    const underWay = [...witness.underWay()].filter((one) => one.process === process);
    const owned = Object.values(Object.groupBy(underWay, ({ settings }) => settings.owner));
    const free = rules.inAll - underWay.length;
    return free <= 0 || owned.some((own = []) => own.length >= (free + own.length) * rules.ownerShare);
  }

  function noteChange({ id, version }: WebhookRow): void {
    if (changes.get(id)?.version !== version) changes.set(id, { version, at: time.now() });
  }

  function isCalm({ id }: WebhookRow, since: number): boolean {
    const changedAt = changes.get(id)?.at ?? time.now();
    return (
      since - faultAt > CALM_MS &&
      changedAt < since &&
      replicas.every((replica) => replica.isAlive() && !replica.isFrozen() && replica.runner())
    );
  }

  const patienceOf = ({ rate }: WebhookRow) => STILL_MS + slowMs + (rate === undefined ? 0 : 3_000 / rate);

  function mayBeJudged(webhook: WebhookRow): boolean {
    const now = time.now();
    const { url, pausedUntil = 0 } = webhook;
    const since = now - patienceOf(webhook);
    const isWell = receivers.mood(url, now) === 'well' && now - receivers.moodSince(url, now) > WELL_MS;
    // A hanging request, perhaps to an earlier URL, keeps its slot until it ends.
    if ([...witness.underWay()].some((one) => one.webhook === webhook.id && one.at < since)) return false;
    if (!isWell || pausedUntil > since || fullAt > since || !isCalm(webhook, since)) return false;
    const attempt = lastOf(webhook)?.attempt;
    return attempt !== undefined && failureOf(attempt) === undefined;
  }

  /** The request that ended last, rather than started last: it determines whether the lane counts as healthy. */
  function lastOf({ id }: WebhookRow): Send | undefined {
    const ended = witness.sends().filter(({ webhook, attempt }) => webhook === id && attempt !== undefined);
    return ended.reduce<Send | undefined>(
      (last, one) => (last && (last.endedAt ?? 0) > (one.endedAt ?? 0) ? last : one),
      undefined,
    );
  }

  function judge(webhook: WebhookRow): void {
    const since = time.now() - patienceOf(webhook);
    const waiting = [...(rows.pending.get(webhook.id)?.values() ?? [])].filter(
      (row) => row.due < since && isVisible(rows, webhook.id, row.event) && !isUnderWay(row),
    );
    const last = witness.sends().findLast((send) => send.webhook === webhook.id);
    judged.lanes++;
    if (waiting.length > 0 && (last === undefined || last.at < since)) {
      witness.fail(`${webhook.id} stands still with ${waiting.length} that wait`);
    }
  }

  const isUnderWay = ({ webhook, event }: DeliveryRow) =>
    [...witness.underWay()].some((send) => send.webhook === webhook && send.event === event.id);

  function judgeAsked(webhook: WebhookRow, event: string, at: number): void {
    const row = rows.deliveries.get(webhook.id)?.get(event);
    noteChange(webhook);
    if (!row || !isVisible(rows, webhook.id, row.event) || webhook.status !== 'enabled') return;
    if (webhook.rate !== undefined || (webhook.pausedUntil ?? 0) > at || !isCalm(webhook, at)) return;
    const isTheirs = (send: Send) => send.webhook === webhook.id && send.event === event && send.at >= at;
    // One slot is reserved for requested deliveries, and another may have it.
    const isTaken = (send: Send) =>
      send.isAsked && send.at < at && (send.endedAt === undefined || send.endedAt > at);
    const others = [...(rows.pending.get(webhook.id)?.values() ?? [])].filter(
      (one) => one.isAsked && one !== row,
    );
    if (others.length > 0 || witness.sends().some(isTaken)) return;
    // A read finds only a few, and with the slowest store the next read may be late.
    const isBefore = (send: Send) => send.isAsked && send.webhook === webhook.id && send.at >= at;
    const isSent = witness.sends().some(isTheirs);
    if (!isSent && witness.sends().some(isBefore)) return;
    judged.asked++;
    if (!isSent) witness.fail(`${event} was asked for, but not sent to ${webhook.id}`);
  }

  time.at(time.now(), look);
  return {
    onFault() {
      faultAt = time.now();
    },
    onAsked(webhook, event) {
      const at = time.now();
      time.at(at + ASKED_MS + slowMs, () => judgeAsked(webhook, event, at));
    },
    judged: () => judged,
  };
}

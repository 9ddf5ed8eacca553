import type { Delivery, Webhook } from './schemas.ts';

/** A webhook that needs attention. */
export type Concern<W> = {
  webhook: W;
  /** 0 for the most urgent. */
  rank: number;
  kind: 'bad' | 'warn';
  /** In sentences. */
  problem: string;
  step: Step;
};

/** What helps: enable it, resend what failed, or look at its deliveries in a state. */
export type Step = { do: 'enable' } | { do: 'replay' } | { do: 'look'; at: Delivery['state'] | undefined };

/** The webhook's fields that decide. */
export type WebhookHealth = Omit<Webhook, 'id' | 'url' | 'publicKey' | 'createdAt'>;

/** A delivery that has waited less than this needs no help: the first retry comes after 5 s. */
const LATE_SECONDS = 60;

/**
 * The webhooks that need attention, the most urgent first. One that its owner disabled counts only if it holds
 * deliveries.
 * @param timeText shows a time (RFC 3339); by default as it is
 * @param ageText shows an age in seconds, a minute or more; by default in its largest unit, rounded down
 */
export function needingAttention<W extends WebhookHealth>(
  webhooks: readonly W[],
  timeText: (time: string) => string = String,
  ageText: (seconds: number) => string = roughly,
): Concern<W>[] {
  return webhooks
    .flatMap((webhook) => {
      const trouble = troubleOf(webhook, timeText, ageText);
      return trouble ? [{ webhook, ...trouble }] : [];
    })
    .sort((a, b) => a.rank - b.rank);
}

type Trouble = Omit<Concern<unknown>, 'webhook'>;

function troubleOf(
  webhook: WebhookHealth,
  timeText: (time: string) => string,
  ageText: (seconds: number) => string,
): Trouble | undefined {
  const { status, disabledReason, pausedUntil, failed, waiting, oldestWaitingAge: age = 0 } = webhook;
  const held = waiting > 0 ? `${counted(waiting, 'delivery is', 'deliveries are')} held.` : '';
  const oldest = age < LATE_SECONDS ? '' : `, the oldest for ${ageText(age)}`;
  const waits = waiting > 0 ? `${counted(waiting, 'delivery is', 'deliveries are')} waiting${oldest}.` : '';
  const lost = failed > 0 ? `${counted(failed, 'delivery', 'deliveries')} failed for good.` : '';
  const lastFailed = hasFailedLast(webhook) ? 'The last attempt failed.' : '';
  const pause =
    pausedUntil === undefined ? '' : `Its receiver requested a pause until ${timeText(pausedUntil)}.`;
  const enable: Step = { do: 'enable' };
  const lookAtWaiting: Step = { do: 'look', at: 'pending' };

  if (disabledReason !== undefined) {
    return trouble(0, enable, `The service disabled it: ${disabledReason}`, held);
  }
  if (status === 'disabled') return waiting > 0 ? trouble(3, enable, 'It is disabled.', held) : undefined;
  if (waiting > 0 && lastFailed !== '') {
    // What is lost for good is worse than what is late.
    return trouble(failed > 0 ? 1 : 2, lookAtWaiting, lastFailed, pause, waits, lost);
  }
  if (failed > 0) return trouble(1, { do: 'replay' }, lastFailed, lost, waits);
  if (pause !== '') return trouble(4, lookAtWaiting, pause, waits);
  if (oldest !== '') return trouble(5, lookAtWaiting, waits);
  return lastFailed === '' ? undefined : trouble(6, { do: 'look', at: undefined }, lastFailed);
}

function trouble(rank: number, step: Step, ...sentences: string[]): Trouble {
  const problem = sentences.filter((sentence) => sentence !== '').join(' ');
  return { rank, kind: rank < 3 ? 'bad' : 'warn', step, problem };
}

/** Whether the last attempt failed. */
export function hasFailedLast({ lastFailureAt, lastSuccessAt }: WebhookHealth): boolean {
  if (lastFailureAt === undefined) return false;
  return lastSuccessAt === undefined || Date.parse(lastSuccessAt) < Date.parse(lastFailureAt);
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A duration in its largest unit, rounded down: `3 min`, `2 h`, `4 d`. */
function roughly(seconds: number): string {
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

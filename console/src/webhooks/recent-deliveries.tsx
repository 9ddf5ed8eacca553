import { hasFailedLast } from '../../../packages/client/src/attention.ts';
import type { Delivery, DeliveryWithHistory, Webhook } from '../../../packages/client/src/client.ts';
import { ButtonLink } from '../components/button.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Time } from '../components/time.tsx';
import { serviceNow } from '../connection.ts';
import { AttemptList } from '../deliveries/attempt.tsx';
import { DeliveryTable } from '../deliveries/delivery-table.tsx';
import { SendAgain } from '../deliveries/send-again.tsx';
import { isGone } from '../failure.ts';
import { count } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { type Resource, useResource } from '../resource.ts';
import { href } from '../router.ts';
import { store } from '../session.ts';
import { shownDelivery, titleOf } from '../webhook-state.ts';
import '../styles/deliveries.css';

const REFRESH_MS = 10_000;
const HOUR = 3_600_000;
const SHOWN = 10;
/** As many deliveries of an hour as the API returns at once. */
const COUNTED = 1_000;

type Recent = {
  latest: Delivery[];
  rate: string;
  /** Why the newest delivery failed that did, if there is one. */
  reason: string | undefined;
  /** The same deliveries with their attempts, if one of them failed. */
  inFull: DeliveryWithHistory[];
  /** The event of the card that is open at first. It stays this one: somebody may be reading. */
  opened: string | undefined;
};

/** The last deliveries of a webhook, which change at once when it is enabled or disabled. */
export function useRecent(webhook: Webhook): Resource<Recent> {
  const recent: Resource<Recent> = useResource(`${webhook.id} ${webhook.status}`, (signal) =>
    load(webhook, recent.state.peek().value, signal),
  );
  useRefresh(recent, REFRESH_MS);
  return recent;
}

type RecentProps = { webhook: string; recent: Resource<Recent> };

/** What became of the last deliveries of a webhook; if one failed, with the attempts of each. */
export function RecentDeliveries({ webhook, recent }: RecentProps) {
  return (
    <Loaded resource={recent} what="list of deliveries">
      {({ latest, rate, inFull, opened }) => (
        <section class="stack" aria-labelledby="latest">
          <div class="section-head">
            <div>
              <h2 id="latest">Last deliveries</h2>
              <p class="muted">{rate}</p>
            </div>
            <ButtonLink icon="deliveries" href={href('/deliveries', { webhook })}>
              All deliveries
            </ButtonLink>
          </div>
          {inFull.length > 0
            ? inFull.map((one) => (
                <InFull
                  key={one.event}
                  delivery={one}
                  isOpen={one.event === opened}
                  onChanged={recent.reload}
                />
              ))
            : latest.length > 0 && <DeliveryTable deliveries={latest} />}
        </section>
      )}
    </Loaded>
  );
}

/** @param before the previous load: what it has in full is not read again */
async function load(webhook: Webhook, before: Recent | undefined, signal: AbortSignal): Promise<Recent> {
  const { id } = webhook;
  const since = new Date(serviceNow() - HOUR).toISOString();
  const { deliveriesPage, allDeliveriesPage } = store().webhooks;
  const [{ items }, hour] = await Promise.all([
    deliveriesPage(id, { limit: SHOWN, signal }),
    allDeliveriesPage({ webhook: id, since, limit: COUNTED, signal }),
  ]);
  const failed = hour.items.find(hasFailed) ?? (await findOlderFailure(webhook, signal));
  // It may have failed between the two reads.
  const latest = items.map((one) => (one.event === failed?.event ? failed : one));
  // While a receiver is down, the newest deliveries may not have been tried at all.
  const shown = failed && !latest.some(hasFailed) ? [...latest.slice(0, SHOWN - 1), failed] : latest;
  const read = (one: Delivery) =>
    before?.inFull.find((known) => isSame(known, one)) ?? readInFull(one, signal);
  const found = shown.some(hasFailed) ? await Promise.all(shown.map(read)) : [];
  const inFull = found.filter((one) => one !== undefined);
  const hasCards = before !== undefined && before.inFull.length > 0;
  return {
    latest,
    rate: rateText(hour.items, hour.next !== undefined),
    reason: shown.find(hasFailed)?.reason,
    inFull,
    opened: hasCards ? before.opened : inFull.find(hasFailed)?.event,
  };
}

/** A delivery of more than an hour ago that explains why the webhook fails. The oldest that waits has been tried. */
async function findOlderFailure(webhook: Webhook, signal: AbortSignal): Promise<Delivery | undefined> {
  const { id, failed, oldestWaitingAge: age } = webhook;
  const newest = async (options: { state: 'pending' | 'failed'; until?: string }) => {
    const { items } = await store().webhooks.allDeliveriesPage({
      webhook: id,
      limit: SHOWN,
      signal,
      ...options,
    });
    return items.find(hasFailed);
  };
  if (age !== undefined && hasFailedLast(webhook)) {
    // The age, and what is known of the service's clock, are exact to the second.
    const until = new Date(serviceNow() - (age - 2) * 1_000).toISOString();
    const found = await newest({ state: 'pending', until });
    if (found) return found;
  }
  return failed > 0 ? newest({ state: 'failed' }) : undefined;
}

/** Whether it has no further attempt: their number only grows. */
function isSame(known: Delivery, now: Delivery): boolean {
  return known.event === now.event && known.attempts === now.attempts && known.state === now.state;
}

/** Undefined when it no longer exists. */
async function readInFull(
  { webhook, event }: Delivery,
  signal: AbortSignal,
): Promise<DeliveryWithHistory | undefined> {
  try {
    return await store().webhooks.delivery(webhook, event, { signal });
  } catch (error) {
    if (!isGone(error)) throw error;
    return undefined;
  }
}

/** The share of the deliveries whose last attempt failed. */
function rateText(deliveries: readonly Delivery[], isCut: boolean): string {
  const sent = deliveries.filter(({ attempts }) => attempts > 0).length;
  if (sent === 0) return 'Nothing that was created in the last hour has been sent yet.';
  const failed = deliveries.filter(hasFailed).length;
  const all = isCut ? `the newest ${count(sent)}` : count(sent);
  return `Failure rate of the last hour: ${Math.round((100 * failed) / sent)} %, ${count(failed)} of ${all} deliveries.`;
}

function hasFailed({ reason }: Delivery): boolean {
  return reason !== undefined;
}

type InFullProps = { delivery: DeliveryWithHistory; isOpen: boolean; onChanged(): Promise<void> };

function InFull({ delivery, isOpen, onChanged }: InFullProps) {
  const { webhook, event, createdAt, reason } = delivery;
  return (
    <details class="card in-full" open={isOpen}>
      <summary>
        <span class="attempt-head">
          <strong class="clamped">
            <bdi>{titleOf(delivery)}</bdi>
          </strong>
          <StateBadge shown={shownDelivery(delivery)} />
          <Time at={createdAt} />
          {reason !== undefined && <span class="muted">{reason}</span>}
        </span>
      </summary>
      <AttemptList delivery={delivery} />
      <div class="actions">
        <SendAgain delivery={delivery} label={`Send again, ${titleOf(delivery)}`} onChanged={onChanged} />
        <ButtonLink href={href(`/deliveries/${webhook}/${event}`)}>View delivery</ButtonLink>
      </div>
    </details>
  );
}

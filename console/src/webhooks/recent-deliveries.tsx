import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/client.ts';
import { ButtonLink } from '../components/button.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Time } from '../components/time.tsx';
import { AttemptList } from '../deliveries/attempt.tsx';
import { DeliveryTable } from '../deliveries/delivery-table.tsx';
import { count } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
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
  /** The same deliveries with their attempts, if one of them failed. */
  inFull: DeliveryWithHistory[];
};

/** What became of the last deliveries of a webhook; if one failed, with the attempts of each. */
export function RecentDeliveries({ webhook }: { webhook: string }) {
  const recent = useResource(`recent ${webhook}`, (signal) => load(webhook, signal));
  useRefresh(recent, REFRESH_MS);
  return (
    <Loaded resource={recent} what="deliveries">
      {({ latest, rate, inFull }) => (
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
                <InFull key={one.event} delivery={one} isOpen={one === inFull.find(hasFailed)} />
              ))
            : latest.length > 0 && <DeliveryTable deliveries={latest} />}
        </section>
      )}
    </Loaded>
  );
}

async function load(webhook: string, signal: AbortSignal): Promise<Recent> {
  const since = new Date(Date.now() - HOUR).toISOString();
  const { deliveriesPage, allDeliveriesPage, delivery } = store().webhooks;
  const [{ items: latest }, hour] = await Promise.all([
    deliveriesPage(webhook, { limit: SHOWN, signal }),
    allDeliveriesPage({ webhook, since, limit: COUNTED, signal }),
  ]);
  const failed = hour.items.find(hasFailed);
  // While a receiver is down, the newest deliveries may not have been tried at all.
  const shown = failed && !latest.some(hasFailed) ? [...latest.slice(0, SHOWN - 1), failed] : latest;
  const inFull = shown.some(hasFailed) ? shown.map(({ event }) => delivery(webhook, event, { signal })) : [];
  return { latest, rate: rateText(hour.items, hour.next !== undefined), inFull: await Promise.all(inFull) };
}

/** The share of the deliveries whose last attempt failed. */
function rateText(deliveries: readonly Delivery[], isCut: boolean): string {
  const sent = deliveries.filter(({ attempts }) => attempts > 0).length;
  if (sent === 0) return 'Nothing of the last hour was sent yet.';
  const failed = deliveries.filter(hasFailed).length;
  const all = isCut ? `the newest ${count(sent)}` : count(sent);
  return `Failure rate of the last hour: ${Math.round((100 * failed) / sent)} %, ${count(failed)} of ${all} deliveries.`;
}

function hasFailed({ reason }: Delivery): boolean {
  return reason !== undefined;
}

type InFullProps = { delivery: DeliveryWithHistory; isOpen: boolean };

function InFull({ delivery, isOpen }: InFullProps) {
  const { webhook, event, createdAt } = delivery;
  return (
    <details class="card in-full" open={isOpen}>
      <summary>
        <span class="attempt-head">
          <strong class="clamped">{titleOf(delivery)}</strong>
          <StateBadge shown={shownDelivery(delivery)} />
          <Time at={createdAt} />
        </span>
      </summary>
      <AttemptList delivery={delivery} />
      <ButtonLink href={href(`/deliveries/${webhook}/${event}`)}>View delivery</ButtonLink>
    </details>
  );
}

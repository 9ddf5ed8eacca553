import type { Delivery, DeliveryWithHistory } from '../../../packages/client/src/client.ts';
import { ButtonLink } from '../components/button.tsx';
import { Loaded } from '../components/states.tsx';
import { AttemptLine } from '../deliveries/attempt.tsx';
import { DeliveryTable } from '../deliveries/delivery-table.tsx';
import { count } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { store } from '../session.ts';
import '../styles/deliveries.css';

const REFRESH_MS = 10_000;
const HOUR = 3_600_000;
const SHOWN = 10;
/** As many deliveries of an hour as the API returns at once. */
const COUNTED = 1_000;

type Recent = { latest: Delivery[]; rate: string; failed: DeliveryWithHistory | undefined };

/** What became of the last deliveries of a webhook, and how the receiver answered the newest that failed. */
export function RecentDeliveries({ webhook }: { webhook: string }) {
  const recent = useResource(`recent ${webhook}`, (signal) => load(webhook, signal));
  useRefresh(recent, REFRESH_MS);
  return (
    <Loaded resource={recent} what="deliveries">
      {({ latest, rate, failed }) => (
        <div class="stack">
          {failed && <Failed webhook={webhook} delivery={failed} />}
          <section aria-labelledby="latest">
            <div class="section-head">
              <div>
                <h2 id="latest">Last deliveries</h2>
                <p class="muted">{rate}</p>
              </div>
              <ButtonLink icon="deliveries" href={href('/deliveries', { webhook })}>
                All deliveries
              </ButtonLink>
            </div>
            {latest.length > 0 && <DeliveryTable webhook={webhook} deliveries={latest} />}
          </section>
        </div>
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
  const failed = [...hour.items, ...latest].find(hasFailed);
  return {
    latest,
    rate: rateText(hour.items, hour.next !== undefined),
    failed: failed && (await delivery(webhook, failed.event, { signal })),
  };
}

/** The share of the deliveries whose last attempt failed. */
function rateText(deliveries: readonly Delivery[], isCut: boolean): string {
  const sent = deliveries.filter(({ attempts }) => attempts > 0).length;
  if (sent === 0) return 'No delivery of the last hour was sent yet.';
  const failed = deliveries.filter(hasFailed).length;
  const all = isCut ? `the newest ${count(sent)}` : count(sent);
  return `Failure rate of the last hour: ${Math.round((100 * failed) / sent)} %, ${count(failed)} of ${all} deliveries.`;
}

function hasFailed({ reason }: Delivery): boolean {
  return reason !== undefined;
}

function Failed({ webhook, delivery }: { webhook: string; delivery: DeliveryWithHistory }) {
  const { event, attempts, history } = delivery;
  const last = history.at(-1);
  return (
    <section class="card" aria-labelledby="failed">
      <div class="section-head">
        <h2 id="failed">Newest failed delivery</h2>
        <ButtonLink href={href(`/deliveries/${webhook}/${event}`)}>View delivery</ButtonLink>
      </div>
      <ol class="attempts">{last && <AttemptLine attempt={last} number={attempts} isOpen />}</ol>
    </section>
  );
}

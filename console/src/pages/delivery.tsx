import type { DeliveryWithHistory, Webhook } from '../../../packages/client/src/client.ts';
import { ButtonLink } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Time } from '../components/time.tsx';
import { AttemptList } from '../deliveries/attempt.tsx';
import { bodyOf, curlOf } from '../deliveries/request.ts';
import { SendAgain } from '../deliveries/send-again.tsx';
import { dateAndTime } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { store } from '../session.ts';
import { shownDelivery, titleOf } from '../webhook-state.ts';
import '../styles/deliveries.css';

const REFRESH_MS = 2_000;
/** What is held or failed changes when its webhook is enabled or replayed, also elsewhere. */
const SLOW_REFRESH_MS = 10_000;

/** One event for one webhook, with every attempt. */
export function Delivery({ webhook, event }: { webhook: string; event: string }) {
  const loaded = useResource(`${webhook} ${event}`, async (signal) => {
    const { get, delivery } = store().webhooks;
    const [one, target] = await Promise.all([delivery(webhook, event, { signal }), get(webhook, { signal })]);
    return { delivery: one, webhook: target };
  });
  const value = loaded.state.value.value?.delivery;
  useRefresh(loaded, value?.state === 'pending' ? REFRESH_MS : SLOW_REFRESH_MS);

  return (
    <Page
      title={value ? titleOf(value) : 'Delivery'}
      back={{ href: href('/deliveries', { webhook }), label: 'Deliveries' }}
      actions={
        value && (
          <>
            <SendAgain delivery={value} onChanged={loaded.reload} />
            <ButtonLink icon="webhooks" href={href(`/webhooks/${webhook}`)}>
              View webhook
            </ButtonLink>
          </>
        )
      }
    >
      <Loaded resource={loaded} what="delivery">
        {(one) => (
          <div class="stack">
            <Facts {...one} />
            <section class="card" aria-labelledby="attempts">
              <h2 id="attempts">Attempts</h2>
              <AttemptList delivery={one.delivery} />
            </section>
            <Payload {...one} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

type OneDelivery = { delivery: DeliveryWithHistory; webhook: Webhook };

function Facts({ delivery, webhook }: OneDelivery) {
  const { event, createdAt, nextAttemptAt, state, reason } = delivery;
  return (
    <section class="card">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          {/* Read out when it changes: who sends a test waits for that. */}
          <span role="status">
            <StateBadge shown={shownDelivery(delivery)} />
          </span>
        </dd>
        {reason !== undefined && <dt>Reason</dt>}
        {reason !== undefined && <dd>{reason}</dd>}
        <dt>Created</dt>
        <dd>
          <Time at={createdAt} />, {dateAndTime(createdAt)}
        </dd>
        {state === 'pending' && <dt>Next attempt</dt>}
        {state === 'pending' && (
          <dd>
            {nextAttemptAt ? <Time at={nextAttemptAt} isAhead /> : 'in progress, or when the pause is over'}
          </dd>
        )}
        <dt>Event</dt>
        <dd class="copyable">
          <code>{event}</code>
          <CopyButton text={event} what="the event id" />
        </dd>
        <dt>URL</dt>
        <dd>{webhook.url}</dd>
      </dl>
    </section>
  );
}

function Payload({ delivery, webhook }: OneDelivery) {
  const body = bodyOf(delivery);
  return (
    <section class="card" aria-labelledby="payload">
      <div class="section-head">
        <h2 id="payload">Payload</h2>
        <div class="actions">
          <CopyButton text={body} what="payload" isNamed />
          <CopyButton text={curlOf(webhook.url, delivery)} what="as curl" isNamed />
        </div>
      </div>
      <pre>
        <code>{body}</code>
      </pre>
    </section>
  );
}

import { useSignal } from '@preact/signals';
import type { DeliveryWithHistory } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Time } from '../components/time.tsx';
import { AttemptLine } from '../deliveries/attempt.tsx';
import { sentenceOf } from '../failure.ts';
import { dateAndTime } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { may, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { shownDelivery } from '../webhook-state.ts';
import '../styles/deliveries.css';

const REFRESH_MS = 2_000;

/** One event for one webhook, with every attempt. */
export function Delivery({ webhook, event }: { webhook: string; event: string }) {
  const delivery = useResource(`${webhook} ${event}`, (signal) =>
    store().webhooks.delivery(webhook, event, { signal }),
  );
  const { value } = delivery.state.value;
  useRefresh(delivery, value?.state === 'pending' ? REFRESH_MS : Number.POSITIVE_INFINITY);
  const isBusy = useSignal(false);

  async function redeliver(): Promise<void> {
    isBusy.value = true;
    try {
      await store().webhooks.redeliver(webhook, event);
      toast('Sending it again now.');
      await delivery.reload();
    } catch (error) {
      toast(sentenceOf(error), { kind: 'failed' });
    } finally {
      isBusy.value = false;
    }
  }

  const refusal = may('webhooks:write') ? undefined : 'Your token lacks the scope webhooks:write.';
  return (
    <Page
      title={titleOf(value)}
      back={{ href: href('/deliveries', { webhook }), label: 'Deliveries' }}
      actions={
        value && (
          <Button icon="refresh" isBusy={isBusy.value} refusal={refusal} onClick={() => void redeliver()}>
            Send again
          </Button>
        )
      }
    >
      <Loaded resource={delivery} what="delivery">
        {(one) => (
          <div class="stack">
            <Facts delivery={one} webhook={webhook} />
            <Attempts delivery={one} />
            <section class="card" aria-labelledby="body">
              <h2 id="body">What was sent</h2>
              <pre>
                <code>{bodyOf(one)}</code>
              </pre>
            </section>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function titleOf(delivery: DeliveryWithHistory | undefined): string {
  if (delivery === undefined) return 'Delivery';
  return delivery.type === 'plant.test' ? 'Test event' : delivery.plant.name;
}

function Facts({ delivery, webhook }: { delivery: DeliveryWithHistory; webhook: string }) {
  const { event, createdAt, nextAttemptAt, state, reason } = delivery;
  return (
    <section class="card">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StateBadge shown={shownDelivery(delivery)} />
        </dd>
        {reason !== undefined && <dt>Why</dt>}
        {reason !== undefined && <dd>{reason}</dd>}
        <dt>Happened</dt>
        <dd>
          <Time at={createdAt} />, {dateAndTime(createdAt)}
        </dd>
        {state === 'pending' && <dt>Next attempt</dt>}
        {state === 'pending' && (
          <dd>{nextAttemptAt ? <Time at={nextAttemptAt} /> : 'in progress, or when the pause is over'}</dd>
        )}
        <dt>Event</dt>
        <dd class="copyable">
          <code>{event}</code>
          <CopyButton text={event} what="the event id" />
        </dd>
        <dt>Webhook</dt>
        <dd>
          <a href={href(`/webhooks/${webhook}`)}>{webhook}</a>
        </dd>
      </dl>
    </section>
  );
}

function Attempts({ delivery: { history, attempts } }: { delivery: DeliveryWithHistory }) {
  return (
    <section class="card" aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      {history.length === 0 && <p class="muted">None yet.</p>}
      {attempts > history.length && (
        <p class="muted">
          {attempts} were made; the newest {history.length} are kept.
        </p>
      )}
      <ol class="attempts" reversed={history.length > 1}>
        {history.toReversed().map((attempt) => (
          <AttemptLine key={attempt.at} attempt={attempt} />
        ))}
      </ol>
    </section>
  );
}

/** The body of the request. Ids over 2^53 keep every digit. */
function bodyOf({ plant: { id, name, tag } }: DeliveryWithHistory): string {
  const members = [`"id": ${id}`, `"name": ${JSON.stringify(name)}`];
  if (tag !== undefined) members.push(`"tag": ${JSON.stringify(tag)}`);
  return `{\n  ${members.join(',\n  ')}\n}`;
}

import { useSignal } from '@preact/signals';
import type { Webhook as Data } from '../../../packages/client/src/client.ts';
import { ButtonLink } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { Notice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Time } from '../components/time.tsx';
import { count, counted, dateAndTime, duration } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { store } from '../session.ts';
import { shownWebhook } from '../webhook-state.ts';
import { WebhookActions } from '../webhooks/webhook-actions.tsx';
import { type Task, WebhookTask } from '../webhooks/webhook-task.tsx';
import '../styles/webhooks.css';

const REFRESH_MS = 5_000;

/** One webhook: its state, and all actions on it. */
export function Webhook({ id }: { id: string }) {
  const webhook = useResource(id, (signal) => store().webhooks.get(id, { signal }));
  useRefresh(webhook, REFRESH_MS);
  const task = useSignal<Task | undefined>(undefined);
  const { value } = webhook.state.value;
  return (
    <Page
      title={value?.description ?? value?.url ?? 'Webhook'}
      back={{ href: href('/webhooks'), label: 'Webhooks' }}
      actions={
        value && (
          <ButtonLink icon="deliveries" href={href('/deliveries', { webhook: id })}>
            Deliveries
          </ButtonLink>
        )
      }
    >
      <Loaded resource={webhook} what="webhook">
        {(one) => (
          <div class="stack">
            <Trouble webhook={one} />
            <Facts webhook={one} />
            <WebhookActions
              webhook={one}
              onChanged={webhook.replace}
              begin={(next) => {
                task.value = next;
              }}
            />
          </div>
        )}
      </Loaded>
      {value && task.value && (
        <WebhookTask
          task={task.value}
          webhook={value}
          onChanged={() => void webhook.reload()}
          onClose={() => {
            task.value = undefined;
          }}
        />
      )}
    </Page>
  );
}

/** What prevents delivery, and what helps. */
function Trouble({ webhook: { status, disabledReason, pausedUntil, waiting } }: { webhook: Data }) {
  const held = waiting > 0 ? ` ${counted(waiting, 'delivery waits', 'deliveries wait')} for it.` : '';
  if (disabledReason !== undefined) {
    return (
      <Notice kind="bad">
        The service disabled it: {disabledReason}
        {held} Enable it when its receiver works again.
      </Notice>
    );
  }
  if (status === 'disabled') {
    return <Notice kind="warn">It is disabled: deliveries of new plants are held, not sent.{held}</Notice>;
  }
  if (pausedUntil !== undefined && Date.parse(pausedUntil) > Date.now()) {
    return (
      <Notice kind="warn">
        Its receiver requested a pause until {dateAndTime(pausedUntil)}.{held}
      </Notice>
    );
  }
  return null;
}

function Facts({ webhook }: { webhook: Data }) {
  const { id, url, rate, publicKey, createdAt, lastSuccessAt, lastFailureAt } = webhook;
  return (
    <section class="card" aria-label="How it is">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StateBadge shown={shownWebhook(webhook, Date.now())} />
        </dd>
        <dt>Last arrived</dt>
        <dd>{lastSuccessAt ? <Time at={lastSuccessAt} /> : 'nothing yet'}</dd>
        <dt>Last failed</dt>
        <dd>{lastFailureAt ? <Time at={lastFailureAt} /> : 'nothing'}</dd>
        <Waiting webhook={webhook} />
        <dt>URL</dt>
        <dd>{url}</dd>
        <dt>Rate</dt>
        <dd>{rate === undefined ? 'as fast as its receiver accepts' : `at most ${rate} a second`}</dd>
        <dt>Created</dt>
        <dd>{dateAndTime(createdAt)}</dd>
        <dt>Id</dt>
        <dd class="copyable">
          <code>{id}</code>
          <CopyButton text={id} what="the id" />
        </dd>
        <dt>Public key</dt>
        <dd class="copyable">
          <code>{publicKey}</code>
          <CopyButton text={publicKey} what="the public key" />
        </dd>
      </dl>
    </section>
  );
}

function Waiting({ webhook: { id, waiting, failed, oldestWaitingAge } }: { webhook: Data }) {
  return (
    <>
      <dt>Waiting</dt>
      <dd>
        {count(waiting)}
        {oldestWaitingAge !== undefined &&
          `, the oldest for ${duration(Math.max(1, oldestWaitingAge) * 1_000)}`}
      </dd>
      <dt>Failed</dt>
      <dd>
        {failed > 0 ? (
          <a href={href('/deliveries', { webhook: id, state: 'failed' })}>{count(failed)}</a>
        ) : (
          count(failed)
        )}
      </dd>
    </>
  );
}

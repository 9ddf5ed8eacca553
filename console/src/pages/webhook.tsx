import { useSignal } from '@preact/signals';
import { needingAttention } from '../../../packages/client/src/attention.ts';
import type { Webhook as Data } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { Notice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Loaded } from '../components/states.tsx';
import { Time } from '../components/time.tsx';
import { serviceNow } from '../connection.ts';
import { age, count, dateAndTime } from '../format.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { refusalFor, store } from '../session.ts';
import { nameOf, shownWebhook } from '../webhook-state.ts';
import { RecentDeliveries, useRecent } from '../webhooks/recent-deliveries.tsx';
import { WebhookActions } from '../webhooks/webhook-actions.tsx';
import { type Task, WebhookTask } from '../webhooks/webhook-task.tsx';
import '../styles/webhooks.css';

const REFRESH_MS = 5_000;

/** One webhook: its state, what became of its deliveries, and all actions on it. */
export function Webhook({ id }: { id: string }) {
  const webhook = useResource(id, (signal) => store().webhooks.get(id, { signal }));
  useRefresh(webhook, REFRESH_MS);
  const task = useSignal<Task | undefined>(undefined);
  const begin = (next: Task) => {
    task.value = next;
  };
  const { value } = webhook.state.value;
  return (
    <Page
      title={value ? nameOf(value) : 'Webhook'}
      lead={value && nameOf(value) !== value.url && <span class="clamped">{value.url}</span>}
      back={{ href: href('/webhooks'), label: 'Webhooks' }}
      actions={value && <WebhookActions webhook={value} onChanged={webhook.replace} begin={begin} />}
    >
      <Loaded resource={webhook} what="webhook">
        {(one) => <Sections webhook={one} onDelete={() => begin('delete')} />}
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

function Sections({ webhook, onDelete }: { webhook: Data; onDelete(): void }) {
  const recent = useRecent(webhook);
  return (
    <div class="stack">
      <Trouble webhook={webhook} reason={recent.state.value.value?.reason} />
      <Health webhook={webhook} />
      <RecentDeliveries webhook={webhook.id} recent={recent} />
      <Settings webhook={webhook} />
      <section class="card section-head" aria-label="Delete">
        <p class="muted">Deleting the webhook also deletes its deliveries.</p>
        <Button icon="trash" refusal={refusalFor('webhooks:write')} onClick={onDelete}>
          Delete
        </Button>
      </section>
    </div>
  );
}

/** What prevents delivery, and why. */
function Trouble({ webhook, reason }: { webhook: Data; reason: string | undefined }) {
  const [concern] = needingAttention([webhook], dateAndTime, age);
  if (concern) {
    return (
      <Notice kind={concern.kind} isStanding>
        <p>{concern.problem}</p>
        {reason !== undefined && <p>Reason: {reason}</p>}
      </Notice>
    );
  }
  if (webhook.status === 'enabled') return null;
  return <Notice kind="warn">It is disabled: deliveries of new plants are held, not sent.</Notice>;
}

function Health({ webhook }: { webhook: Data }) {
  const { id, lastSuccessAt, lastFailureAt, waiting, failed, oldestWaitingAge } = webhook;
  return (
    <section class="card" aria-label="Health">
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StateBadge shown={shownWebhook(webhook, serviceNow())} />
        </dd>
        <dt>Last delivered</dt>
        <dd>{lastSuccessAt ? <Time at={lastSuccessAt} /> : 'nothing yet'}</dd>
        <dt>Last failed</dt>
        <dd>{lastFailureAt ? <Time at={lastFailureAt} /> : 'nothing'}</dd>
        <dt>Waiting</dt>
        <dd>
          {count(waiting)}
          {oldestWaitingAge !== undefined && `, the oldest for ${age(oldestWaitingAge)}`}
        </dd>
        <dt>Failed for good</dt>
        <dd>
          {failed > 0 ? (
            <a href={href('/deliveries', { webhook: id, state: 'failed' })}>{count(failed)}</a>
          ) : (
            count(failed)
          )}
        </dd>
      </dl>
    </section>
  );
}

function Settings({ webhook: { id, url, rate, publicKey, createdAt } }: { webhook: Data }) {
  return (
    <section class="card" aria-label="Settings">
      <dl class="facts">
        <dt>URL</dt>
        <dd>{url}</dd>
        <dt>Rate</dt>
        <dd>{rate === undefined ? 'Unlimited' : `at most ${rate} a second`}</dd>
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

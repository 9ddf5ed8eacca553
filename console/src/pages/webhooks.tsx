import { useSignal } from '@preact/signals';
import type { Webhook, WebhookCreated } from '../../../packages/client/src/client.ts';
import { AddButton } from '../components/button.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { serviceNow } from '../connection.ts';
import { age, count } from '../format.ts';
import { hold } from '../hold.ts';
import { useRefresh } from '../refresh.ts';
import { useResource } from '../resource.ts';
import { href } from '../router.ts';
import { refusalFor, store } from '../session.ts';
import { inputOf, type WebhookText } from '../webhook-draft.ts';
import { nameOf, shownWebhook } from '../webhook-state.ts';
import { NewSecret } from '../webhooks/new-secret.tsx';
import { WebhookForm } from '../webhooks/webhook-form.tsx';
import '../styles/webhooks.css';

const REFRESH_MS = 10_000;

/** The receivers of new plants, and their state. */
export function Webhooks() {
  const isCreating = useSignal(false);
  const webhooks = useResource('webhooks', (signal) => store().webhooks.list({ signal }));
  useRefresh(webhooks, REFRESH_MS);
  const refusal = refusalFor('webhooks:write');
  const create = (
    <AddButton label="Create a webhook" refusal={refusal} onClick={() => (isCreating.value = true)} />
  );
  const isEmpty = webhooks.state.value.value?.length === 0;
  return (
    <Page
      title="Webhooks"
      lead="They tell other programs about every new plant."
      actions={!isEmpty && create}
    >
      <Loaded resource={webhooks} what="webhooks">
        {(list) =>
          list.length > 0 ? (
            <Table caption="Webhooks" columns={COLUMNS} rows={list} keyOf={({ id }) => id} />
          ) : (
            <Empty icon="webhooks" title="No webhooks yet" actions={create}>
              A webhook is a URL of yours. Every plant added from then on is signed and sent there, with
              retries until it arrives.
            </Empty>
          )
        }
      </Loaded>
      {isCreating.value && (
        <CreateWebhook onCreated={() => void webhooks.reload()} onClose={() => (isCreating.value = false)} />
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<Webhook>[] = [
  {
    title: 'Webhook',
    kind: 'name',
    cell: (webhook) => (
      <div>
        <a class="clamped" href={href(`/webhooks/${webhook.id}`)}>
          {nameOf(webhook)}
        </a>
        {nameOf(webhook) !== webhook.url && <span class="under clamped url">{webhook.url}</span>}
      </div>
    ),
  },
  { title: 'State', cell: (webhook) => <StateBadge shown={shownWebhook(webhook, serviceNow())} /> },
  { title: 'Last delivered', cell: ({ lastSuccessAt }) => lastSuccessAt && <Time at={lastSuccessAt} /> },
  {
    title: 'Waiting',
    cell: ({ waiting, oldestWaitingAge }) => (
      <>
        {count(waiting)}
        {oldestWaitingAge !== undefined && <span class="muted"> · for {age(oldestWaitingAge)}</span>}
      </>
    ),
  },
  {
    title: 'Failed for good',
    cell: ({ id, failed }) =>
      failed > 0 ? (
        <a href={href('/deliveries', { webhook: id, state: 'failed' })}>{count(failed)}</a>
      ) : (
        count(failed)
      ),
  },
];

/** Creates a webhook, then shows its secret. */
function CreateWebhook({ onCreated, onClose }: { onCreated(): void; onClose(): void }) {
  const made = useSignal<WebhookCreated | undefined>(undefined);

  async function save(text: WebhookText, idempotencyKey: string): Promise<void> {
    // Leaving before the response would lose the secret.
    const release = hold();
    try {
      made.value = await store().webhooks.create(inputOf(text), { idempotencyKey });
      onCreated();
    } finally {
      release();
    }
  }

  if (!made.value) {
    const text = { url: '', description: '', rate: '' };
    return <WebhookForm title="Create a webhook" verb="Create" text={text} save={save} onClose={onClose} />;
  }
  const { secret, publicKey, url } = made.value;
  return (
    <NewSecret title="The webhook is ready" secret={secret} publicKey={publicKey} onClose={onClose}>
      <p>
        From now on every new plant is sent to <strong class="clamped">{url}</strong>
      </p>
    </NewSecret>
  );
}

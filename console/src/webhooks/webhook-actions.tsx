import type { Webhook } from '../../../packages/client/src/client.ts';
import { Button, WorkButton } from '../components/button.tsx';
import { go, place } from '../router.ts';
import { refusalFor, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { expectationOf } from '../webhook-state.ts';
import type { Task } from './webhook-task.tsx';

type WebhookActionsProps = {
  webhook: Webhook;
  onChanged(webhook: Webhook): void;
  /** Opens a dialog. */
  begin(task: Task): void;
};

/** The actions on a webhook, in the order in which they are needed. Deleting it is apart from them. */
export function WebhookActions({ webhook, onChanged, begin }: WebhookActionsProps) {
  const isEnabled = webhook.status === 'enabled';
  const refusal = refusalFor('webhooks:write');

  async function test(): Promise<void> {
    const sent = await store().webhooks.test(webhook.id);
    const show = () => go(`/deliveries/${webhook.id}/${sent.event}`);
    // Stay where the user is if they have navigated or opened a dialog meanwhile: it may show a secret.
    const isWaiting = place.peek().path === `/webhooks/${webhook.id}`;
    if (isWaiting && !document.querySelector('dialog[open]')) show();
    else toast(`A test was requested. ${expectationOf(sent)}`, { action: { label: 'Show', run: show } });
  }

  async function toggle(): Promise<void> {
    onChanged(await store().webhooks.update(webhook.id, { enabled: !isEnabled }));
    toast(
      isEnabled
        ? 'The webhook is disabled. Deliveries are held.'
        : 'The webhook is enabled. Waiting deliveries are sent now.',
    );
  }

  return (
    <>
      <WorkButton icon="play" refusal={refusal} work={test}>
        Send a test
      </WorkButton>
      <WorkButton icon={isEnabled ? 'pause' : 'play'} refusal={refusal} work={toggle}>
        {isEnabled ? 'Disable' : 'Enable'}
      </WorkButton>
      <Button icon="refresh" refusal={refusal} onClick={() => begin('replay')}>
        Replay
      </Button>
      <Button icon="edit" refusal={refusal} onClick={() => begin('edit')}>
        Edit
      </Button>
      <Button icon="key" refusal={refusal} onClick={() => begin('rotate')}>
        Rotate the secret
      </Button>
    </>
  );
}

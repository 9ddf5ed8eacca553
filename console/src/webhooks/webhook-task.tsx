import { useRef } from 'preact/hooks';
import type { Webhook } from '../../../packages/client/src/client.ts';
import { Confirm } from '../components/confirm.tsx';
import { codeOf } from '../failure.ts';
import { counted } from '../format.ts';
import { go, place } from '../router.ts';
import { store } from '../session.ts';
import { toast } from '../toasts.ts';
import { changeOf, textOf, type WebhookText } from '../webhook-draft.ts';
import { Replay } from './replay.tsx';
import { SecretRotation } from './rotation.tsx';
import { WebhookForm } from './webhook-form.tsx';

/** The actions with a dialog. */
export type Task = 'edit' | 'replay' | 'rotate' | 'delete';

type TaskProps = { webhook: Webhook; onChanged(): void; onClose(): void };

export function WebhookTask({ task, ...props }: TaskProps & { task: Task }) {
  if (task === 'edit') return <Edit {...props} />;
  if (task === 'replay') return <Replay {...props} />;
  if (task === 'rotate') return <SecretRotation {...props} />;
  return <Delete {...props} />;
}

function Edit({ webhook, onChanged, onClose }: TaskProps) {
  // The values when the form opened, so that changes by others are not reverted.
  const before = useRef(webhook).current;
  async function save(text: WebhookText): Promise<void> {
    await store().webhooks.update(before.id, changeOf(before, text));
    toast('The webhook was saved.');
    onChanged();
    onClose();
  }
  return (
    <WebhookForm title="Edit the webhook" verb="Save" text={textOf(before)} save={save} onClose={onClose} />
  );
}

function Delete({ webhook: { id, url, waiting }, onClose }: TaskProps) {
  async function act(): Promise<void> {
    try {
      await store().webhooks.delete(id);
    } catch (error) {
      if (codeOf(error) !== 40402) throw error;
    }
    toast('The webhook was deleted.');
    if (place.peek().path === `/webhooks/${id}`) go('/webhooks');
  }
  return (
    <Confirm title="Delete the webhook?" verb="Delete" act={act} onClose={onClose}>
      <p>
        Nothing more will be sent to <strong class="clamped">{url}</strong>
      </p>
      {waiting > 0 && <p>{counted(waiting, 'waiting delivery', 'waiting deliveries')} will never be sent.</p>}
      <p>Its deliveries and their attempts will be deleted as well. The plants stay.</p>
    </Confirm>
  );
}

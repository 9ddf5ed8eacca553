import { useSignal } from '@preact/signals';
import type { Webhook } from '../../../packages/client/src/client.ts';
import { Button } from '../components/button.tsx';
import { sentenceOf } from '../failure.ts';
import { go, place } from '../router.ts';
import { refusalFor, store } from '../session.ts';
import { toast } from '../toasts.ts';
import type { Task } from './webhook-task.tsx';

type WebhookActionsProps = {
  webhook: Webhook;
  onChanged(webhook: Webhook): void;
  /** Opens a dialog. */
  begin(task: Task): void;
};

/** The actions on a webhook, in the order in which they are needed. Deleting it is apart from them. */
export function WebhookActions({ webhook, onChanged, begin }: WebhookActionsProps) {
  const busyWith = useSignal<'test' | 'switch' | undefined>(undefined);
  const isEnabled = webhook.status === 'enabled';
  const refusal = refusalFor('webhooks:write');

  async function run(what: 'test' | 'switch', work: () => Promise<void>): Promise<void> {
    busyWith.value = what;
    try {
      await work();
    } catch (error) {
      toast(sentenceOf(error), { kind: 'failed' });
    } finally {
      busyWith.value = undefined;
    }
  }

  const test = () =>
    run('test', async () => {
      const { event } = await store().webhooks.test(webhook.id);
      const show = () => go(`/deliveries/${webhook.id}/${event}`);
      // Stay where the user is if they have navigated meanwhile.
      if (place.peek().path === `/webhooks/${webhook.id}`) show();
      else toast('The test event is on its way.', { action: { label: 'Show', run: show } });
    });
  const toggle = () =>
    run('switch', async () => {
      onChanged(await store().webhooks.update(webhook.id, { enabled: !isEnabled }));
      toast(
        isEnabled
          ? 'The webhook is disabled. Deliveries are held.'
          : 'The webhook is enabled. Waiting deliveries are sent now.',
      );
    });

  return (
    <>
      <Button icon="play" refusal={refusal} isBusy={busyWith.value === 'test'} onClick={() => void test()}>
        Send a test
      </Button>
      <Button
        icon={isEnabled ? 'pause' : 'play'}
        refusal={refusal}
        isBusy={busyWith.value === 'switch'}
        onClick={() => void toggle()}
      >
        {isEnabled ? 'Disable' : 'Enable'}
      </Button>
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

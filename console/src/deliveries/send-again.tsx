import type { Delivery } from '../../../packages/client/src/client.ts';
import { WorkButton } from '../components/button.tsx';
import { serviceNow } from '../connection.ts';
import { place } from '../router.ts';
import { refusalFor, session, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { expectationOf } from '../webhook-state.ts';

/** An attempt may take 15 s. */
const LOOKS = 20;
const LOOK_MS = 1_000;

type SendAgainProps = {
  delivery: Pick<Delivery, 'webhook' | 'event'>;
  /** Names it where there are several. */
  label?: string;
  /** Called when it is due, and after its attempt. */
  onChanged(): Promise<void>;
};

/** Sends a delivery again, and says what became of it; if its attempt is later, when. */
export function SendAgain({ delivery: { webhook, event }, onChanged, ...props }: SendAgainProps) {
  async function redeliver(): Promise<void> {
    const client = store();
    const { path } = place.peek();
    // The button itself may go before: a webhook that works again lists its deliveries without buttons.
    const isHere = () => place.peek().path === path && session.peek()?.store === client;
    const sent = await client.webhooks.redeliver(webhook, event);
    await onChanged();
    const now = await tried(sent, isHere);
    if (!isHere()) return;
    if (now.attempts === sent.attempts) return toast(expectationOf(now));
    await onChanged();
    if (now.reason === undefined) toast('Delivered.');
    else toast(`It failed${sent.reason === undefined ? '' : ' again'}: ${now.reason}`, { kind: 'failed' });
  }

  /** The delivery after its next attempt, or as it is if that does not come soon. */
  async function tried(sent: Delivery, isHere: () => boolean): Promise<Delivery> {
    let now = sent;
    for (let look = 0; look < LOOKS && isDue(now) && now.attempts === sent.attempts; look++) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (!isHere()) break;
      now = await store().webhooks.delivery(webhook, event);
    }
    return now;
  }

  return (
    <WorkButton icon="refresh" refusal={refusalFor('webhooks:write')} work={redeliver} {...props}>
      Send again
    </WorkButton>
  );
}

function isDue({ state, nextAttemptAt }: Delivery): boolean {
  const soon = serviceNow() + 2 * LOOK_MS;
  return state === 'pending' && (nextAttemptAt === undefined || Date.parse(nextAttemptAt) <= soon);
}

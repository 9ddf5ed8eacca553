import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Concern } from '../../../packages/client/src/attention.ts';
import type { Webhook } from '../../../packages/client/src/client.ts';
import { Badge } from '../components/badge.tsx';
import { Button, ButtonLink, WorkButton } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { counted } from '../format.ts';
import { href } from '../router.ts';
import { refusalFor, store } from '../session.ts';
import { toast } from '../toasts.ts';
import { nameOf } from '../webhook-state.ts';
import { Replay } from '../webhooks/replay.tsx';

/** As many as a person can take in, and few enough to keep the charts in view. */
const SHOWN = 10;
/** As long as failed deliveries are kept by default. */
const HOURS_BACK = '720';

type AttentionProps = { concerns: readonly Concern<Webhook>[]; hasWebhooks: boolean; onChanged(): void };

/** What needs attention, each with the step that helps. */
export function Attention({ concerns, hasWebhooks, onChanged }: AttentionProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const replaying = useSignal<Webhook | undefined>(undefined);
  const rest = concerns.length - SHOWN;
  return (
    <section class="card attention" aria-labelledby="attention">
      <h2 id="attention" ref={heading} tabIndex={-1}>
        Needs attention
      </h2>
      {concerns.length === 0 ? (
        <p class="all-well">
          <Icon name="check" />
          {hasWebhooks ? 'Nothing: no webhook has a problem.' : 'Nothing. There is no webhook yet.'}
        </p>
      ) : (
        <ul>
          {concerns.slice(0, SHOWN).map((concern) => (
            <Line
              key={concern.webhook.id}
              concern={concern}
              replay={() => {
                replaying.value = concern.webhook;
              }}
              onEnabled={() => {
                // The line disappears together with the button.
                heading.current?.focus();
                onChanged();
              }}
            />
          ))}
        </ul>
      )}
      {rest > 0 && (
        <p>
          <a href={href('/webhooks')}>and {counted(rest, 'more webhook')}</a>
        </p>
      )}
      {replaying.value && (
        <Replay
          webhook={replaying.value}
          hoursBack={HOURS_BACK}
          onChanged={onChanged}
          onClose={() => {
            replaying.value = undefined;
          }}
        />
      )}
    </section>
  );
}

type LineProps = { concern: Concern<Webhook>; replay(): void; onEnabled(): void };

function Line({ concern: { webhook, kind, problem, step }, replay, onEnabled }: LineProps) {
  const name = nameOf(webhook);
  const refusal = refusalFor('webhooks:write');
  return (
    <li>
      <Badge kind={kind} icon="alert">
        {kind === 'bad' ? 'Problem' : 'Warning'}
      </Badge>
      <div>
        <a class="clamped" href={href(`/webhooks/${webhook.id}`)}>
          {name}
        </a>
        <p>{problem}</p>
      </div>
      <div class="actions">
        {step.do === 'enable' && <Enable webhook={webhook} refusal={refusal} onEnabled={onEnabled} />}
        {step.do === 'replay' && (
          <Button icon="refresh" label={`Replay what failed, ${name}`} refusal={refusal} onClick={replay}>
            Replay what failed
          </Button>
        )}
        {step.do === 'replay' && (
          <ButtonLink look="quiet" href={href('/deliveries', { webhook: webhook.id, state: 'failed' })}>
            Deliveries<span class="hidden"> of {name}</span>
          </ButtonLink>
        )}
        {step.do === 'look' && (
          <ButtonLink look="quiet" href={href(`/webhooks/${webhook.id}`)}>
            See why<span class="hidden"> {name} needs attention</span>
          </ButtonLink>
        )}
      </div>
    </li>
  );
}

type EnableProps = { webhook: Webhook; refusal: string | undefined; onEnabled(): void };

function Enable({ webhook, refusal, onEnabled }: EnableProps) {
  async function enable(): Promise<void> {
    await store().webhooks.update(webhook.id, { enabled: true });
    toast('The webhook is enabled. Waiting deliveries are sent now.');
    onEnabled();
  }
  return (
    <WorkButton icon="play" label={`Enable, ${nameOf(webhook)}`} refusal={refusal} work={enable}>
      Enable
    </WorkButton>
  );
}

import { useRef } from 'preact/hooks';
import type { DeliveryWithHistory } from '../../../packages/client/src/client.ts';
import { Badge } from '../components/badge.tsx';
import { Time } from '../components/time.tsx';
import { duration } from '../format.ts';

type Attempt = DeliveryWithHistory['history'][number];

/** Every attempt of a delivery, newest first. */
export function AttemptList({ delivery: { history, attempts } }: { delivery: DeliveryWithHistory }) {
  return (
    <>
      {history.length === 0 && <p class="muted">None yet.</p>}
      {attempts > history.length && (
        <p class="muted">
          {attempts} were made; the newest {history.length} are kept.
        </p>
      )}
      <ol class="attempts">
        {history.toReversed().map((attempt, at) => (
          <AttemptLine key={attempt.at} attempt={attempt} number={attempts - at} isOpen={at === 0} />
        ))}
      </ol>
    </>
  );
}

type AttemptLineProps = {
  attempt: Attempt;
  /** 1 for the first attempt of the delivery. */
  number: number;
  /** Whether to show the response at first. */
  isOpen: boolean;
};

/** One request to the receiver and its response. */
function AttemptLine({ attempt, number, isOpen }: AttemptLineProps) {
  const { at, durationMs, address, status, excerpt, error } = attempt;
  // Somebody may be reading it when the next attempt arrives.
  const isOpenAtFirst = useRef(isOpen).current;
  return (
    <li value={number}>
      <p class="attempt-head">
        <AttemptBadge attempt={attempt} />
        <Time at={at} />
        <span class="muted">
          took {duration(durationMs)}
          {address !== undefined && `, to ${address}`}
        </span>
      </p>
      {error !== undefined && <p>{error}</p>}
      {excerpt !== undefined && excerpt !== '' && (
        <details open={isOpenAtFirst}>
          <summary>The response began with</summary>
          <pre>
            <code>{excerpt}</code>
          </pre>
        </details>
      )}
      {error === undefined && status === undefined && <p>There was no response.</p>}
    </li>
  );
}

function AttemptBadge({ attempt: { status, error } }: { attempt: Attempt }) {
  if (status === undefined) {
    return (
      <Badge kind="bad" icon="alert">
        No response
      </Badge>
    );
  }
  const isGood = status >= 200 && status < 300 && error === undefined;
  return (
    <Badge kind={isGood ? 'good' : 'bad'} icon={isGood ? 'check' : 'alert'}>
      {status}
    </Badge>
  );
}

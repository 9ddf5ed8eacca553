import type { Measures } from '../../observability/port.ts';
import { type Log, timeText } from '../../runtime.ts';
import type { Outcome, Recorded } from './port.ts';

export type DeliveryMeasures = Pick<Measures, 'attemptEnded' | 'batchEnded' | 'happened'>;

/** Reports recorded outcomes to the log and the metrics. */
export function createReports(
  log: Log,
  measures: DeliveryMeasures | undefined,
): (outcomes: readonly Outcome[], results: readonly Recorded[]) => void {
  function report({ webhook, event, attempt, reason, next }: Outcome, result: Recorded | undefined): void {
    const { status, durationMs } = attempt;
    // Unless it is settled, the delivery was sent again meanwhile, or is left to another replica.
    const isFinal = next.state === 'delivered' || result === 'settled';
    const end = isFinal && next.state !== 'pending' ? next.state : 'retrying';
    measures?.attemptEnded(end, durationMs);
    const context = { webhook, event, status, durationMs, reason };
    if (end === 'delivered') log.debug(context, 'delivered');
    else if (end === 'retrying') log.info(context, 'an attempt failed');
    else log.warn(context, 'a delivery failed for good');
  }

  function reportWebhook({ webhook, begins, laneState }: Outcome): void {
    const { pausedUntil, disabledReason } = laneState;
    if (begins === 'pause') {
      measures?.happened('pauses');
      log.info({ webhook, pausedUntil: pausedUntil && timeText(pausedUntil) }, 'a webhook pauses');
    } else if (begins === 'disabled') {
      measures?.happened('disabled');
      log.warn({ webhook, reason: disabledReason }, 'a webhook was disabled');
    }
  }

  return (outcomes, results) => {
    for (const [n, outcome] of outcomes.entries()) {
      const { webhook, event } = outcome;
      report(outcome, results[n]);
      if (results[n] === 'settled' || results[n] === 'anew') reportWebhook(outcome);
      else log.info({ webhook, event }, LATE);
    }
  };
}

const LATE = 'an outcome came too late, or for a delivery that was sent again or is gone';

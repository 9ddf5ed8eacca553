import type { Members } from './answer-reader.ts';
import { shellWord } from './terminal.ts';
import { roughDuration } from './time.ts';

/** A webhook that somebody should look after. */
export type Attention = {
  webhook: string;
  url: string;
  problem: string;
  /** What to do next. */
  advice: string;
};

/** A delivery that waits no longer than this waits for its turn, not for help: the first retry comes after 5 s. */
const PATIENCE_SECONDS = 60;

/** The webhooks that need attention, those that need it most first: disabled, failed, paused, late. */
export function needingAttention(webhooks: readonly Members[]): Attention[] {
  return webhooks
    .flatMap((webhook) => {
      const found = troubleOf(webhook);
      if (found === undefined) return [];
      const { weight, problem, advice } = found;
      return [{ weight, webhook: webhook.text('id'), url: webhook.text('url'), problem, advice }];
    })
    .sort((a, b) => b.weight - a.weight)
    .map(({ weight: _, ...attention }) => attention);
}

type Trouble = { weight: number; problem: string; advice: string };

function troubleOf(webhook: Members): Trouble | undefined {
  // Of the service, whatever that is, and meant to be pasted.
  const id = shellWord(webhook.text('id'));
  const [waiting, failed] = [webhook.count('waiting'), webhook.count('failed')];
  const age = webhook.optionalCount('oldestWaitingAge') ?? 0;
  const oldest =
    waiting > 0 ? `${deliveries(waiting)} waiting, the oldest for ${roughDuration(age * 1000)}` : '';
  const reason = webhook.optionalText('disabledReason');
  const paused = webhook.optionalText('pausedUntil');
  const list = `plant-store delivery list ${id}`;
  if (webhook.text('status') === 'disabled') {
    const held = waiting > 0 ? `, ${deliveries(waiting)} held` : '';
    // One that its owner disabled is as it should be, unless something waits for it.
    if (reason === undefined && waiting === 0) return undefined;
    return {
      weight: 4,
      problem: `disabled${reason === undefined ? '' : `: ${reason.replace(/\.$/, '')}`}${held}`,
      advice: `when its receiver is well: plant-store webhook enable ${id}`,
    };
  }
  if (failed > 0) {
    return {
      weight: 3,
      problem: [`${deliveries(failed)} failed for good`, ...(oldest ? [oldest] : [])].join('; '),
      advice:
        `see why: ${list} --state failed; ` +
        `then send them again: plant-store webhook replay ${id} --since 7d --state failed`,
    };
  }
  if (paused !== undefined) {
    return {
      weight: 2,
      problem: `paused until ${paused}, as its receiver asked${oldest ? `; ${oldest}` : ''}`,
      advice: 'nothing, it goes on by itself',
    };
  }
  if (waiting === 0 || age < PATIENCE_SECONDS) return undefined;
  return { weight: 1, problem: oldest, advice: `see why: ${list} --state pending` };
}

function deliveries(count: number): string {
  return count === 1 ? '1 delivery' : `${count} deliveries`;
}

import { needingAttention, type Step } from '../client/attention.ts';
import type { Members } from './answer-reader.ts';
import { shellWord } from './terminal.ts';

/** A webhook that somebody should look at, and what to do next. */
export type Attention = { webhook: string; url: string; problem: string; advice: string };

/** The webhooks that need attention, the most urgent first. */
export function attentionOf(webhooks: readonly Members[]): Attention[] {
  return needingAttention(webhooks.map(webhookOf)).map(({ webhook: { id, url }, problem, step }) => ({
    webhook: id,
    url,
    problem,
    advice: adviceFor(step, shellWord(id)),
  }));
}

function webhookOf(webhook: Members) {
  return {
    id: webhook.text('id'),
    url: webhook.text('url'),
    status: webhook.text('status') === 'disabled' ? ('disabled' as const) : ('enabled' as const),
    waiting: webhook.count('waiting'),
    failed: webhook.count('failed'),
    disabledReason: webhook.optionalText('disabledReason'),
    pausedUntil: webhook.optionalText('pausedUntil'),
    lastSuccessAt: webhook.optionalText('lastSuccessAt'),
    lastFailureAt: webhook.optionalText('lastFailureAt'),
    oldestWaitingAge: webhook.optionalCount('oldestWaitingAge'),
  };
}

/** @param id as a word that is meant to be pasted into a shell */
function adviceFor(step: Step, id: string): string {
  const list = `see why: plant-store delivery list ${id}`;
  if (step.do === 'enable') return `once its receiver works again: plant-store webhook enable ${id}`;
  if (step.do === 'look') return step.at === undefined ? list : `${list} --state ${step.at}`;
  return `${list} --state failed; then send them again: plant-store webhook replay ${id} --since 7d --state failed`;
}

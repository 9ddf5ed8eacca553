import { needingAttention, type Step } from '../../../packages/client/src/attention.ts';
import type { Webhook } from '../../../packages/client/src/schemas.ts';
import { shellWord } from '../terminal/terminal.ts';

/** A webhook that somebody should look at, and what to do next. */
export type Attention = { webhook: string; url: string; problem: string; advice: string };

/** The webhooks that need attention, the most urgent first. */
export function attentionOf(webhooks: readonly Webhook[]): Attention[] {
  return needingAttention(webhooks).map(({ webhook: { id, url }, problem, step }) => ({
    webhook: id,
    url,
    problem,
    advice: adviceFor(step, shellWord(id)),
  }));
}

/** @param id as a word that is meant to be pasted into a shell */
function adviceFor(step: Step, id: string): string {
  const list = `see why: plant-store delivery list ${id}`;
  if (step.do === 'enable') return `once its receiver works again: plant-store webhook enable ${id}`;
  if (step.do === 'look') return step.at === undefined ? list : `${list} --state ${step.at}`;
  return `${list} --state failed; then send them again: plant-store webhook replay ${id} --since 7d --state failed`;
}

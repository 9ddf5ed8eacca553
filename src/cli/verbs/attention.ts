import { needingAttention, type Step } from '../../../packages/client/src/attention.ts';
import type { Webhook } from '../../../packages/client/src/schemas.ts';
import { shellWord } from '../terminal/terminal.ts';

export type Attention = { webhook: string; url: string; problem: string; advice: string };

export function attentionOf(webhooks: readonly Webhook[]): Attention[] {
  return needingAttention(webhooks).map(({ webhook: { id, url }, problem, step }) => ({
    webhook: id,
    url,
    problem,
    advice: adviceFor(step, shellWord(id)),
  }));
}

/** @param id as a shell word, to be pasted */
function adviceFor(step: Step, id: string): string {
  const list = `find out why: plant-store delivery list ${id}`;
  if (step.do === 'enable') return `once the receiver works again: plant-store webhook enable ${id}`;
  if (step.do === 'look') return step.at === undefined ? list : `${list} --state ${step.at}`;
  return `${list} --state failed; then resend them: plant-store webhook replay ${id} --since 7d --state failed`;
}

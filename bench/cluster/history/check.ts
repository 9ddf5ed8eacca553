import { type Facts, factsOf } from './facts.ts';
import type { Entry } from './history.ts';
import { type Limits, rules } from './rules.ts';

/** A violation: the rule's name, and a sentence that says where. */
export type Finding = { rule: keyof typeof rules; detail: string };

export type Checked = { findings: Finding[]; counts: Record<string, number> };

const USUAL: Limits = { graceMs: 5_000, mayRepeat: true };

/**
 * Returns every violation in the history of a run, and what was checked, in numbers. Repeated deliveries are counted also
 * where they are allowed.
 */
export function check(entries: readonly Entry[], limits: Partial<Limits> = {}): Checked {
  const all = { ...USUAL, ...limits };
  const facts = factsOf(entries, all.graceMs);
  const findings = Object.entries(rules).flatMap(([name, rule]) =>
    // The entries of a record have its names.
    rule(facts, all).map((detail) => ({ rule: name as Finding['rule'], detail })),
  );
  return { findings, counts: countsOf(facts) };
}

function countsOf({ entries, plants, walks, deliveries, feeds, tokens }: Facts): Checked['counts'] {
  const accepted = deliveries.filter(({ status }) => status < 300);
  const events = new Set(accepted.map(({ webhook, event }) => `${webhook} ${event}`));
  const fates = Map.groupBy(plants.values(), ({ fate }) => fate);
  return {
    requests: entries.filter((entry) => 'op' in entry).length,
    unanswered: entries.filter((entry) => 'op' in entry && entry.status === 0).length,
    created: fates.get('created')?.length ?? 0,
    refused: fates.get('refused')?.length ?? 0,
    unknown: fates.get('unknown')?.length ?? 0,
    walks: walks.length,
    followers: feeds.size,
    tokens: tokens.size,
    deliveries: events.size,
    repeated: accepted.length - events.size,
  };
}

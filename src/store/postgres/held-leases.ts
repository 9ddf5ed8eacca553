/** The leases that this replica holds: the others hold the rest, and must not lose theirs to it. */
export type HeldLeases = {
  hold(webhook: string, lease: Lease): void;
  /** Ends a lease, unless the delivery was claimed again since. */
  drop(webhook: string, lease: Pick<Lease, 'event' | 'fence'>): void;
  of(webhook: string): Lease[];
  all(): (Lease & { webhook: string })[];
  /** Forgets those that are over: their outcome was never written down. */
  forgetOver(now: number): void;
};

type Lease = { event: string; fence: number; until: number };

export function createHeldLeases(): HeldLeases {
  const held = new Map<string, Map<string, Lease>>();

  function drop(webhook: string, { event, fence }: Pick<Lease, 'event' | 'fence'>): void {
    const leases = held.get(webhook);
    if (leases?.get(event)?.fence !== fence) return;
    leases.delete(event);
    if (leases.size === 0) held.delete(webhook);
  }

  const of = (webhook: string): Lease[] => [...(held.get(webhook)?.values() ?? [])];
  const all = () =>
    [...held.keys()].flatMap((webhook) => of(webhook).map((lease) => ({ webhook, ...lease })));

  return {
    hold(webhook, lease) {
      const leases = held.get(webhook) ?? new Map<string, Lease>();
      held.set(webhook, leases.set(lease.event, lease));
    },
    drop,
    of,
    all,
    forgetOver(now) {
      for (const { webhook, ...lease } of all()) if (lease.until <= now) drop(webhook, lease);
    },
  };
}

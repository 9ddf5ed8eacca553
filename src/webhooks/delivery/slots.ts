import type { Lane } from './lane.ts';
import type { Ledger } from './ledger.ts';
import type { DueDelivery, LaneSettings } from './port.ts';
import type { Rules } from './rules.ts';

/** `isSilent`: whether its lane was silent when the request started. */
export type SlotUse = { delivery: DueDelivery; settings: LaneSettings; isSilent: boolean };

export type Slots = ReturnType<typeof createSlots>;

/** From this many suspicions on, a delivery is sent alone in all lanes, not only in its own. */
const ALONE_IN_ALL = 2;

/** What all lanes of a process share. Lanes that find nothing free wait their turn. */
export function createSlots({ inAll, share, ownerShare, readsAtOnce }: Rules, { isFull }: Ledger) {
  const taken = { all: 0, silent: 0, suspicious: 0, reads: 0 };
  const byOwner = new Map<number, number>();
  const isFree = () => taken.all < inAll;
  /**
   * How many more the owner of a lane may take. The bound is over half of all slots, so only one owner at a time can be
   * at it: the first lane of the queue speaks for all.
   */
  const freeOf = ({ settings }: Lane) =>
    settings ? Math.ceil(inAll * ownerShare) - (byOwner.get(settings.owner) ?? 0) : Infinity;
  // All silent lanes together take at most half of the slots.
  const isSilentFree = () => taken.silent < inAll / 2;
  const waiting = {
    read: queueFor(() => taken.reads < readsAtOnce),
    ledger: queueFor(() => !isFull()),
    suspicious: queueFor(() => taken.suspicious === 0),
    // One manual delivery may exceed the limit.
    asked: queueFor(() => taken.all <= inAll),
    silent: queueFor(() => isFree() && isSilentFree()),
    slot: queueFor(isFree),
    owner: queueFor((lane) => freeOf(lane) > 0),
  };
  const queues = Object.values(waiting);

  function admitOrWait(lane: Lane, of: keyof typeof waiting): boolean {
    const { lanes, isFree } = waiting[of];
    if (isFree(lane)) return true;
    lanes.add(lane);
    return false;
  }

  function count({ delivery, settings: { owner }, isSilent }: SlotUse, by: 1 | -1): void {
    taken.all += by;
    const own = (byOwner.get(owner) ?? 0) + by;
    if (own > 0) byOwner.set(owner, own);
    else byOwner.delete(owner);
    if (isSilent) taken.silent += by;
    if (delivery.suspicions >= ALONE_IN_ALL) taken.suspicious += by;
  }

  return {
    /** How many requests of the lane may be in flight, given the other lanes. */
    widthFor(lane: Lane): number {
      const [free, own] = [inAll - taken.all, freeOf(lane)];
      if (free <= 0 || own <= 0 || (lane.trouble.isSilent && !isSilentFree())) return 0;
      return Math.max(1, Math.floor(free * share));
    },
    wait(lane: Lane): void {
      const isSilent = lane.trouble.isSilent && !isSilentFree();
      waiting[isSilent ? 'silent' : freeOf(lane) > 0 ? 'slot' : 'owner'].lanes.add(lane);
    },
    /** Whether there is a slot for this delivery of the lane. If not, the lane waits. */
    admitOrWait: (lane: Lane, { isAsked, suspicions }: DueDelivery) =>
      admitOrWait(lane, 'ledger') &&
      (suspicions < ALONE_IN_ALL || admitOrWait(lane, 'suspicious')) &&
      admitOrWait(lane, isAsked ? 'asked' : 'slot'),
    take: (of: SlotUse) => count(of, 1),
    free: (of: SlotUse) => count(of, -1),
    /** The same for a read, which takes a slot if there is one. */
    takeReadSlot(lane: Lane): boolean {
      const isAdmitted = admitOrWait(lane, 'read');
      if (isAdmitted) taken.reads++;
      return isAdmitted;
    },
    freeRead: () => void taken.reads--,
    /** Serves the lanes that wait for what has become free: each takes it or waits for something else. */
    letIn(serve: (lane: Lane) => void): void {
      for (const { lanes, isFree } of queues) {
        for (const lane of lanes) {
          if (!isFree(lane)) break;
          lanes.delete(lane);
          serve(lane);
          if (lanes.has(lane)) break;
        }
      }
    },
    forget(lane: Lane): void {
      for (const { lanes } of queues) lanes.delete(lane);
    },
    taken: () => taken.all,
  };
}

function queueFor(isFree: (lane: Lane) => boolean) {
  return { lanes: new Set<Lane>(), isFree };
}

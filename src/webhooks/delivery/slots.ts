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
  const ownOf = ({ settings }: Lane) => (settings && byOwner.get(settings.owner)) ?? 0;
  /** How many more the owner of a lane may take: the fewer slots others leave, the fewer. */
  const freeOf = (lane: Lane) => {
    const own = ownOf(lane);
    return Math.ceil((inAll - taken.all + own) * ownerShare) - own;
  };
  // All silent lanes together take at most half of the slots.
  const isSilentFree = () => taken.silent < inAll / 2;
  const waiting = {
    read: queueFor(() => taken.reads < readsAtOnce),
    ledger: queueFor(() => !isFull()),
    suspicious: queueFor(() => taken.suspicious === 0),
    // One manual delivery may exceed each limit.
    asked: queueFor(
      () => taken.all <= inAll,
      (lane) => ownOf(lane) <= inAll * ownerShare,
    ),
    silent: queueFor(() => isFree() && isSilentFree()),
    slot: queueFor(isFree),
    owner: queueFor(isFree, (lane) => freeOf(lane) > 0),
  };
  const queues = Object.values(waiting);

  function admitOrWait(lane: Lane, of: keyof typeof waiting): boolean {
    const { lanes, isFree, isFor } = waiting[of];
    if (isFree() && isFor(lane)) return true;
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
      for (const { lanes, isFree, isFor } of queues) {
        for (const lane of lanes) {
          if (!isFree()) break;
          if (!isFor(lane)) continue;
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

/**
 * @param isFree whether the first lane may have its turn
 * @param isFor whether this lane may, then; if not, the next one does
 */
function queueFor(isFree: () => boolean, isFor: (lane: Lane) => boolean = () => true) {
  return { lanes: new Set<Lane>(), isFree, isFor };
}

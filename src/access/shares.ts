import { access } from '../limits.ts';
import type { Runtime } from '../runtime.ts';
import type { AccessStore, Share, ShareOutcome } from './port.ts';

/** Lets the viewer read all plants of the owner, including future ones. Both are user names. */
export async function addShare(
  { store, runtime }: { store: AccessStore; runtime: Runtime },
  { owner, viewer }: { owner: string; viewer: string },
): Promise<ShareOutcome | 'same user'> {
  if (owner === viewer) return 'same user';
  return store.addShare({ owner, viewer, at: runtime.clock.now() }, access.sharesPerUser);
}

/** The shares of this owner and this viewer, by owner, then viewer. Without a name, those of everybody. */
export async function sharesBetween(
  { store }: { store: AccessStore },
  { owner, viewer }: { owner?: string | undefined; viewer?: string | undefined },
): Promise<Share[]> {
  const shares = await store.shares();
  return shares.filter(
    (share) =>
      (owner === undefined || share.owner === owner) && (viewer === undefined || share.viewer === viewer),
  );
}

import type { Remote } from '../../../testkit/processes/remote.ts';
import type { Service } from '../../../testkit/service/service.ts';

/** Creates plants with ids from 1 on, and returns the ids. */
export async function stock({ plant }: Remote, count: number): Promise<number[]> {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  for (let at = 0; at < count; at += 100) {
    await Promise.all(
      ids.slice(at, at + 100).map((id) => plant(JSON.stringify({ id, name: `Plant ${id}` }))),
    );
  }
  return ids;
}

/** Lets a user read the plants of another. */
export async function share(service: Service, { owner, viewer }: { owner: string; viewer: string }) {
  await service.beside(({ store }) => store.access.addShare({ owner, viewer, at: Date.now() }, 100));
}

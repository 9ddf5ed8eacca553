import assert from 'node:assert/strict';
import type { Remote } from '../../../testkit/processes/remote.ts';
import type { Service } from '../../../testkit/service/service.ts';
import { given } from '../../../testkit/stores/given.ts';

/** Creates plants with ids from 1 on, and returns the ids. Not by requests, which take most of the time of such a test. */
export async function stock({ service }: Remote, count: number): Promise<number[]> {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  await service.beside(async ({ store }) => {
    const [admin] = await store.access.users();
    assert.equal(admin?.name, 'admin');
    const { create } = given(store);
    await Promise.all(
      ids.map((id) => create(admin.id, BigInt(id), { name: `Plant ${id}`, tag: undefined, at: Date.now() })),
    );
  });
  return ids;
}

/** Lets a user read the plants of another. */
export async function share(service: Service, { owner, viewer }: { owner: string; viewer: string }) {
  await service.beside(({ store }) => store.access.addShare({ owner, viewer, at: Date.now() }, 100));
}

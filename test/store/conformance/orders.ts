import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { foldName, MAX_ID, MIN_ID } from '../../../src/plants/plant.ts';
import type { ListOrder, PlantField, Position } from '../../../src/plants/port.ts';
import { AT, type Given } from '../../../testkit/stores/given.ts';

export function ordersConformance(ready: () => Given, change: (sql: string) => Promise<void>): void {
  const fields: PlantField[] = ['owner', 'id', 'name'];
  const by = (prefix: string): ListOrder => ({ prefix: foldName(prefix) });

  /** The whole list in pages, each plant as its id and name; `between` runs after each page. */
  async function walk(
    viewer: number,
    order: ListOrder,
    limit: number,
    between = async () => {},
    begin?: Position,
  ) {
    const seen: string[] = [];
    let from = begin;
    do {
      const page = await ready().store.plants.page({
        viewer,
        order,
        from,
        through: undefined,
        limit,
        fields,
      });
      const rows = [...page.json.matchAll(/"id":(-?\d+),"name":"([^"]*)"/g)];
      assert.equal(rows.length, page.count);
      assert.ok(page.count === limit || page.next === undefined);
      seen.push(...rows.map(([, id, name]) => `${id} ${name}`));
      from = page.next;
      await between();
    } while (from);
    return seen;
  }

  async function named(owner: number, ...plants: [bigint, string][]): Promise<void> {
    for (const [id, name] of plants) await ready().create(owner, id, { name });
  }

  describe('orders of lists', () => {
    test('a list by name has the plants whose names start with it, by folded name, and equal ones by id', async () => {
      const { id } = await ready().user();
      await named(
        id,
        [5n, 'alder'],
        [2n, 'ALDER'],
        [9n, 'Älder'],
        [1n, 'Alde'],
        [3n, 'Beech'],
        [4n, 'al der'],
      );
      const expected = ['4 al der', '1 Alde', '2 ALDER', '5 alder'];
      for (const limit of [1, 2, 3, 4, 5]) assert.deepEqual(await walk(id, by('AL'), limit), expected);
      assert.deepEqual(await walk(id, by(''), 2), [...expected, '3 Beech', '9 Älder']);
      assert.deepEqual(await walk(id, by('älder'), 2), ['9 Älder']);
      assert.deepEqual(await walk(id, by('alderx'), 2), []);
    });

    test('a prefix has no wildcards, and the last code points may follow it', async () => {
      const { id } = await ready().user();
      const top = '\u{10ffff}';
      await named(
        id,
        [1n, 'a%b'],
        [2n, 'axb'],
        [3n, 'a_b'],
        [4n, `${top}${top}z`],
        [5n, `a${top}${top}`],
        [6n, 'b'],
      );
      assert.deepEqual(await walk(id, by('a%'), 1), ['1 a%b']);
      assert.deepEqual(await walk(id, by('a_'), 1), ['3 a_b']);
      assert.deepEqual(await walk(id, by('a'), 1), ['1 a%b', '3 a_b', '2 axb', `5 a${top}${top}`]);
      assert.deepEqual(await walk(id, by(top), 1), [`4 ${top}${top}z`]);
    });

    test('names are ordered by code points, also beyond the first plane', async () => {
      const { id } = await ready().user();
      await named(id, [1n, '\u{1f331}'], [2n, '\uff5e'], [3n, 'Z'], [4n, 'é'], [5n, 'e\u0301a']);
      assert.deepEqual(await walk(id, by(''), 2), ['3 Z', '4 é', '5 e\u0301a', '2 \uff5e', '1 \u{1f331}']);
    });

    test('the longest folded names are stored and found', async () => {
      const { id } = await ready().user();
      // Each becomes three code points of four bytes, or other ones of two to eight.
      const long = Array.from({ length: 255 }, (_, n) => String.fromCodePoint(0x1d15e + ((n * n) % 7))).join(
        '',
      );
      const wide = Array.from({ length: 255 }, (_, n) =>
        String.fromCodePoint(0x20000 + ((n * 7919) % 40000)),
      ).join('');
      await named(id, [1n, long], [2n, wide], [3n, 'İ'.repeat(255)]);
      assert.deepEqual(await walk(id, by(long), 1), [`1 ${long}`]);
      assert.deepEqual(await walk(id, by(wide), 1), [`2 ${wide}`]);
      assert.deepEqual(await walk(id, by('i̇'.repeat(255)), 1), [`3 ${'İ'.repeat(255)}`]);
    });

    test('a descending list begins at the largest id and ends at the smallest', async () => {
      const { id } = await ready().user();
      await named(id, [MIN_ID, 'a'], [-5n, 'b'], [0n, 'c'], [7n, 'd'], [MAX_ID, 'e']);
      const expected = [`${MAX_ID} e`, '7 d', '0 c', '-5 b', `${MIN_ID} a`];
      for (const limit of [1, 2, 5]) assert.deepEqual(await walk(id, 'descending', limit), expected);
    });

    test('own plants come first in every order, then those of others by the name of the owner', async () => {
      const { store } = ready();
      const [viewer, one, other] = [await ready().user(), await ready().user(), await ready().user()];
      for (const owner of [viewer, one, other]) await named(owner.id, [1n, 'Beta'], [2n, 'alpha']);
      for (const owner of [one, other]) {
        await store.access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, 10);
      }
      const order = [viewer, ...[one, other].sort((a, b) => (a.name < b.name ? -1 : 1))];
      for (const limit of [1, 2, 3, 6]) {
        const page = async (wanted: ListOrder) => (await walk(viewer.id, wanted, limit)).join();
        assert.equal(await page(by('')), order.map(() => '2 alpha,1 Beta').join());
        assert.equal(await page('descending'), order.map(() => '2 alpha,1 Beta').join());
      }
      // Only the owner who no longer shares is left out of the rest.
      let pages = 0;
      const [, second, third] = order;
      assert.ok(second && third);
      const rest = await walk(viewer.id, by('a'), 1, async () => {
        if (++pages === 1) await store.access.removeShare({ owner: second.name, viewer: viewer.name });
      });
      assert.deepEqual(rest, ['2 alpha', '2 alpha']);
    });

    test('each plant that exists during the whole walk appears exactly once in every order', async () => {
      const { store, create } = ready();
      for (const order of [by('p'), 'descending'] as const) {
        const { id } = await ready().user();
        for (let n = 0n; n < 20n; n += 2n) await create(id, n, { name: `P${n % 3n}` });
        const stay = new Set<string>();
        for (let n = 8n; n < 20n; n += 2n) stay.add(`${n} P${n % 3n}`);
        let next = 0n;
        const seen = await walk(id, order, 3, async () => {
          await store.plants.delete(id, next);
          await create(id, next + 1n, { name: `p${next}` });
          await create(id, -next - 1n, { name: 'P1' });
          next += 2n;
          if (next > 6n) next = 100n;
        });
        assert.equal(new Set(seen).size, seen.length);
        assert.deepEqual(
          [...stay].filter((row) => !seen.includes(row)),
          [],
        );
      }
    });

    test('a list ends at the counted plant in its order, without plants added since', async () => {
      const { store, create } = ready();
      const { id: viewer } = await ready().user();
      await named(viewer, [1n, 'd'], [2n, 'c'], [3n, 'b'], [4n, 'a'], [5n, 'x']);
      const place = (id: bigint, name?: string) => ({ owner: viewer, id, ...(name ? { name } : {}) });
      const ends = [
        [by(''), 3, place(2n, 'c'), place(1n, 'd')],
        [by(''), undefined, place(5n, 'x'), undefined],
        [by('c'), 5, place(2n, 'c'), undefined],
        ['descending', 2, place(4n), place(3n)],
        ['descending', 5, place(1n), undefined],
        ['descending', undefined, place(1n), undefined],
      ] as const;
      for (const [order, count, last, next] of ends) {
        const found = await store.plants.end({ viewer, order, from: undefined, count });
        assert.deepEqual([found.last, found.next], [last, next]);
      }
      for (const order of [by(''), 'descending'] as const) {
        for (const count of [4, undefined]) {
          const through = (await walk(viewer, order, 100)).slice(0, count);
          const { last, ends } = await store.plants.end({ viewer, order, from: undefined, count });
          await create(viewer, undefined, { name: 'b' });
          const query = { viewer, order, from: undefined, through: last, ends, limit: 100, fields };
          assert.equal((await store.plants.page(query)).count, through.length);
        }
      }
    });

    test('the last page begins at the last plants in every order, across owners', async () => {
      const { store } = ready();
      const [viewer, one, other] = [await ready().user(), await ready().user(), await ready().user()];
      const orders = ['id', 'descending', by(''), by('b')] as const;
      for (const order of orders) {
        assert.equal(await store.plants.lastPage({ viewer: viewer.id, order, count: 3 }), undefined);
      }
      for (const owner of [viewer, one]) {
        await named(owner.id, [MIN_ID, 'Beta'], [2n, 'beta'], [3n, 'alpha'], [MAX_ID, 'Beech']);
      }
      for (const owner of [one, other]) {
        await store.access.addShare({ owner: owner.name, viewer: viewer.name, at: AT }, 10);
      }
      for (const order of orders) {
        const whole = await walk(viewer.id, order, 100);
        for (const count of [1, 2, 3, 4, 5, 8, 9, 1_000]) {
          const from = await store.plants.lastPage({ viewer: viewer.id, order, count });
          assert.deepEqual(await walk(viewer.id, order, 100, undefined, from), whole.slice(-count));
        }
      }
    });

    test('names are complete only when a chore has folded those of an older version', async () => {
      const { store, finishChores } = ready();
      const [owner, other] = [await ready().user(), await ready().user()];
      await named(owner.id, [1n, 'Alder']);
      await named(other.id, [1n, 'Alder']);
      await change(
        `INSERT INTO plants (owner, id, name, created_at)
         SELECT ${owner.id}, 2, 'ALDER', 0 UNION ALL SELECT ${owner.id}, 3, 'Älder', 0`,
      );
      assert.equal(await store.plants.hasNames(owner.id), false);
      assert.equal(await store.plants.hasNames(other.id), true);
      assert.equal(await store.chores.hasChores(AT), true);
      await finishChores();
      assert.equal(await store.plants.hasNames(owner.id), true);
      assert.deepEqual(await walk(owner.id, by(''), 2), ['1 Alder', '2 ALDER', '3 Älder']);
    });
  });
}

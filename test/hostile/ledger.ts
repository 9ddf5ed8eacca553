import { parseExact } from '../../testkit/contract/json-exact.ts';
import type { Service } from '../../testkit/service/service.ts';
import type { RawAnswer } from '../../testkit/sockets/raw-framing.ts';
import type { Expected } from './case.ts';

/** What a user's list should contain: plants answered 201 and not deleted since. */
export type Ledger = {
  enter(answer: RawAnswer, expected: Partial<Expected>): void;
  /** A plant with its own id, for the request after this case. */
  follower(played: string): { id: string; name: string };
  /** A sentence for each difference to the store, except those that follow from these failed cases. */
  compare(service: Service, token: string, failed: ReadonlyMap<string, unknown>): Promise<string[]>;
};

type Row = { id: string; name?: string | undefined; tag?: string | undefined };

const textOf = ({ id, name, tag }: Row): string => JSON.stringify([id, name, tag]);

/** Below zero, to avoid ids that the service assigns. */
const FIRST_FOLLOWER = -1_000_000;

/** Opened with the user's current plants. */
export async function openLedger(service: Service, token: string): Promise<Ledger> {
  const rows = await listed(service, token);
  const followers = new Map<string, string>();

  return {
    enter({ status, headers, text }, { removes, plant }) {
      if (status === 204 && removes !== undefined) rows.delete(removes);
      const id = /^\/plants\/(-?\d+)$/.exec(headers.get('location') ?? '')?.[1];
      if (status !== 201 || id === undefined || headers.has('idempotent-replayed')) return;
      const { name, tag } = plant?.name === undefined ? JSON.parse(text) : plant;
      rows.set(id, textOf({ id, name, tag }));
    },
    follower(played) {
      const id = String(FIRST_FOLLOWER - followers.size);
      followers.set(id, played);
      return { id, name: 'Follower' };
    },
    async compare(service, token, failed) {
      const found = await listed(service, token);
      const problems: string[] = [];
      for (const [id, row] of found) {
        const played = followers.get(id);
        if (rows.get(id) === row || (played !== undefined && failed.has(played))) continue;
        if (played === undefined) problems.push(`the store has ${row}, which no answer told of`);
        else problems.push(`${played}: what follows ran and was not answered`);
      }
      for (const [id, row] of rows) if (!found.has(id)) problems.push(`the store lacks ${row}`);
      return problems;
    },
  };
}

/** The user's list, as a text per id. */
async function listed(service: Service, token: string): Promise<Map<string, string>> {
  const answer = await service.request('GET', '/plants?fields=id,name,tag', { token });
  // Another test compares the shape with the OpenAPI document.
  const plants = parseExact(answer.text) as { id: bigint; name: string; tag?: string }[];
  return new Map(plants.map((plant) => [String(plant.id), textOf({ ...plant, id: String(plant.id) })]));
}

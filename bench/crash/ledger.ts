/** What the clients know, kept outside the service so that it survives every kill. */
export type Ledger = {
  /** By name: each create has a unique name. */
  entries: Map<string, Entry>;
  /** Creates with the client's id and an unknown outcome: to be retried. */
  unknown: Entry[];
  counts: { retriedCreated: number; retriedTaken: number };
  /** How often each error code was returned, and `lost` for broken connections. */
  failures: Map<number | 'lost', number>;
  /** Answers that no client should get. */
  violations: string[];
};

/**
 * `unknown`: the connection broke before the answer, or the answer said so. `exists`: a retry learned that the id is
 * taken. `refused`: 503, nothing was done.
 */
export type State = 'sent' | 'acknowledged' | 'unknown' | 'exists' | 'refused';

export type Entry = {
  name: string;
  tag: string | undefined;
  /** Chosen by the client, or assigned by the service and returned in `Location`. */
  id: bigint | undefined;
  state: State;
};

export function createLedger(): Ledger {
  return {
    entries: new Map(),
    unknown: [],
    counts: { retriedCreated: 0, retriedTaken: 0 },
    failures: new Map(),
    violations: [],
  };
}

/** A plant as JSON, with all digits of its id and the members in the contract's order. */
export function plantJson({ id, name, tag }: Pick<Entry, 'id' | 'name' | 'tag'>): string {
  const rest = JSON.stringify({ name, tag });
  return id === undefined ? rest : `{"id":${id},${rest.slice(1)}`;
}

/** Below these, a 53-bit number cannot hold an id exactly; and the positive ones stay free for assigned ids. */
const FIRST_CHOSEN = -(2n ** 53n + 1n);

/** A new create, recorded before it is sent, with or without an id of the client's. */
export function enter(ledger: Ledger, { chosen, tagged }: { chosen: boolean; tagged: boolean }): Entry {
  const number = ledger.entries.size + 1;
  const entry: Entry = {
    name: `Plant ${number}`,
    tag: tagged ? `Species ${number % 630}` : undefined,
    id: chosen ? FIRST_CHOSEN - BigInt(number) : undefined,
    state: 'sent',
  };
  ledger.entries.set(entry.name, entry);
  return entry;
}

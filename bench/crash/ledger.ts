/** What the clients know, kept outside the service: it outlives every kill. */
export type Ledger = {
  /** By name: each create has a name of its own. */
  entries: Map<string, Entry>;
  /** Creates whose id the client chose and whose outcome it does not know: to be sent again. */
  unknown: Entry[];
  counts: { retriedCreated: number; retriedTaken: number };
  /** How often each code of the service's errors was answered, and `lost` for connections that broke. */
  failures: Map<number | 'lost', number>;
  /** Answers that no client should get. */
  violations: string[];
};

/**
 * `unknown`: the connection broke before the answer, or that is what it said. `exists`: a retry was told that the id is taken.
 * `refused`: 503, nothing was done.
 */
export type State = 'sent' | 'acknowledged' | 'unknown' | 'exists' | 'refused';

export type Entry = {
  name: string;
  tag: string | undefined;
  /** What the client chose, or what the service assigned and said in `Location`. */
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

/** A plant as JSON, its id with all digits: the members in the contract's order. */
export function plantJson({ id, name, tag }: Pick<Entry, 'id' | 'name' | 'tag'>): string {
  const rest = JSON.stringify({ name, tag });
  return id === undefined ? rest : `{"id":${id},${rest.slice(1)}`;
}

/** Below these an id does not survive a number of 53 bits; and they leave the positive ones to be assigned. */
const FIRST_CHOSEN = -(2n ** 53n + 1n);

/** A new create, entered before it is sent; with an id of the client's choice or without one. */
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

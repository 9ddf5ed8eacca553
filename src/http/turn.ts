/**
 * Holds what one turn of the event loop brings until all of it has arrived, and then lets it go on together:
 *
 * - The requests of a turn read one snapshot of the store, which is opened after the last of them arrived, so
 *   that none reads a state older than itself.
 * - Their answers leave one right behind the other. Written one by one between the queries, each would wake its
 *   client for itself, which costs the system more than the query does.
 */
export function gatherTurn(): (resume: () => void) => void {
  let held: (() => void)[] = [];

  function release(): void {
    const turn = held;
    held = [];
    for (const resume of turn) resume();
  }

  return (resume) => {
    if (held.push(resume) === 1) setImmediate(release);
  };
}

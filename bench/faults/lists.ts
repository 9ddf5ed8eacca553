import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../crash/ledger.ts';
import { ask } from '../load/client.ts';

const PAUSE_MS = 30;
const PATIENCE_MS = 60_000;

/** Lists all plants repeatedly while others create, and compares each list with the ledger, until it is stopped. */
export function keepListing(url: () => string | undefined, ledger: Ledger): { stop(): Promise<void> } {
  let isOver = false;
  async function run(): Promise<void> {
    while (!isOver) {
      const at = url();
      if (at !== undefined) await checkList(at, ledger);
      await sleep(PAUSE_MS);
    }
  }
  const running = run();
  return {
    async stop() {
      isOver = true;
      await running;
    },
  };
}

/**
 * A list must contain everything acknowledged before it began, and nothing refused by then. A 503 is no violation,
 * nor is a broken connection.
 * @returns whether there was a list
 */
export async function checkList(url: string, { entries, failures, violations }: Ledger): Promise<boolean> {
  const known = [...entries.values()].map(({ name, state }) => ({ name, state }));
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await ask(`${url}/plants?fields=name`, { signal }).catch(() => undefined);
  if (signal.aborted) violations.push(`list: no answer in ${PATIENCE_MS} ms`);
  if (answer === undefined) return false;
  if (answer.status !== 200) {
    const code = Number(JSON.parse(answer.body).error);
    failures.set(code, (failures.get(code) ?? 0) + 1);
    if (answer.status !== 503) violations.push(`list: ${answer.status} ${answer.body}`);
    return false;
  }
  // The requested members.
  const plants: { name: string }[] = JSON.parse(answer.body);
  const listed = new Set(plants.map(({ name }) => name));
  const wrong = known.filter(({ name, state }) => {
    if (state === 'acknowledged' || state === 'exists') return !listed.has(name);
    return state === 'refused' && listed.has(name);
  });
  for (const { name, state } of wrong.slice(0, 3))
    violations.push(`list: ${name} is ${state}, and ${wrong.length - 1} more are wrong`);
  return true;
}

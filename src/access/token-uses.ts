import { access as limits } from '../limits.ts';
import type { Log } from '../runtime.ts';
import type { AccessStore } from './port.ts';

const DAY_MS = 86_400_000;

/** When the next UTC day begins. Both are milliseconds since the Unix epoch. */
export function dayAfter(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS;
}

/**
 * Writes the day on which tokens were last used. No request waits for it: what comes while a write is under way is
 * written together after it. What could not be written goes with the next one; a stop of the process may lose it.
 */
export function createUseRecorder({ recordUses }: Pick<AccessStore, 'recordUses'>, log: Log) {
  /** Days by token. */
  const waiting = new Map<string, string>();
  let isWriting = false;

  async function write(): Promise<void> {
    isWriting = true;
    try {
      while (waiting.size > 0) {
        const some = waiting.entries().take(limits.usesTogether).toArray();
        await recordUses(some.map(([id, on]) => ({ id, on })));
        for (const [id, on] of some) if (waiting.get(id) === on) waiting.delete(id);
      }
    } catch (error) {
      log.debug({ err: error }, 'could not record when tokens were last used');
    } finally {
      isWriting = false;
    }
  }

  return (id: string, at: number): void => {
    waiting.set(id, new Date(at).toISOString().slice(0, 10));
    if (!isWriting) void write();
  };
}

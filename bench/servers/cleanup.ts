import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Everything that the benchmark starts or creates is undone when it ends, even after a failure or Ctrl-C. */
const actions = new Set<() => void>();

process.on('exit', () => {
  // Newest first: a process ends before its folder is removed.
  for (const action of [...actions].reverse()) action();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

/** Runs the action when the benchmark ends, unless the returned function was called before. */
export function atEnd(action: () => void): () => void {
  actions.add(action);
  return () => actions.delete(action);
}

/** A new folder that is removed at the end; `keep` preserves it. */
export function temporaryFolder(): { path: string; keep(): void } {
  const path = mkdtempSync(join(tmpdir(), 'plant-store-bench-'));
  const keep = atEnd(() => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
  return { path, keep };
}

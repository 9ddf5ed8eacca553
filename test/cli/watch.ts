import { once } from 'node:events';
import { launch, type Outcome } from '../../testkit/processes/program.ts';

/** A running program whose output a test watches. */
export type Watched = {
  /** Resolves with the lines of standard output once there are this many. Rejects when the program ends first. */
  lines(count: number): Promise<string[]>;
  /** Resolves once standard error matches. Rejects when the program ends first. */
  said(pattern: RegExp): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  turnAway(): void;
  /** How it ended, and its whole output. */
  ended: Promise<Outcome>;
};

export function watch(args: readonly string[], env: Record<string, string>): Watched {
  const child = launch(args, env);
  const written = { stdout: '', stderr: '' };
  const checks = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      written[stream] += chunk;
      for (const check of checks) check();
    });
  }

  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...written }));

  function until<T>(found: () => T | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = () => {
      const value = found();
      if (value === undefined) return;
      checks.delete(check);
      resolve(value);
    };
    checks.add(check);
    check();
    ended.then(() => reject(new Error(`The program ended: ${JSON.stringify(written)}`)), reject);
    return promise;
  }

  return {
    lines: (count) =>
      until(() => {
        const lines = written.stdout.split('\n').slice(0, -1);
        return lines.length >= count ? lines : undefined;
      }),
    said: (pattern) => until(() => pattern.exec(written.stderr)?.[0]),
    signal: (signal) => void child.kill(signal),
    turnAway: () => void child.stdout.destroy(),
    ended,
  };
}

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { endedChildrenCpuSeconds } from '../measure/proc.ts';
import { atEnd } from '../servers/cleanup.ts';
import { LOAD_CORE, pinned } from '../servers/tools.ts';

/** Requests sent as fast as they are answered, over a fixed number of connections. */
export type Load = {
  method: 'GET' | 'POST' | 'DELETE';
  /**
   * Requested in turn. Each request replaces `{id}` in the only path by the next number, and `{id%N}` there
   * and in the token by another number from 1 to N.
   */
  paths: readonly [string, ...string[]];
  /** Each request replaces `{spread}` in it by another text. */
  body?: string;
  /** Such as `If-None-Match: *`. */
  header?: string;
  token?: string;
  connections: number;
};

export type LoadResult = {
  requests: number;
  seconds: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Responses with a status from 400, broken connections and timeouts. */
  failures: number;
  /** CPU seconds used by the generator. */
  cpuSeconds: number;
};

/** Sends the load to a server for a time, from the load's core. */
export async function sendLoad(url: string, load: Load, seconds: number): Promise<LoadResult> {
  const { method, paths, body, header, token, connections } = load;
  const before = endedChildrenCpuSeconds();
  const script = fileURLToPath(new URL('load.lua', import.meta.url));
  const output = await run([
    'wrk',
    ...['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s', '-s', script],
    ...(token === undefined ? [] : ['-H', `authorization: Bearer ${token}`]),
    ...(header === undefined ? [] : ['-H', header]),
    ...[url, '--', method, body ?? '', ...paths],
  ]);
  const result = /^RESULT (.*)$/m.exec(output)?.[1];
  if (!result) throw new Error(`wrk gave no result:\n${output}`);
  // `load.lua` writes the other members.
  return { ...JSON.parse(result), cpuSeconds: endedChildrenCpuSeconds() - before };
}

async function run(command: string[]): Promise<string> {
  const [file, args] = pinned(LOAD_CORE, command);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const forget = atEnd(() => child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve);
    child.once('error', reject);
  });
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  forget();
  if (code !== 0) throw new Error(`${command[0]} failed:\n${output}${errors}`);
  return output;
}

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { endedChildrenCpuSeconds } from '../measure/proc.ts';
import { atEnd } from '../servers/cleanup.ts';
import { isInstalled, LOAD_CORE, pinned } from '../servers/tools.ts';

/** Requests sent as fast as they are answered, over a fixed number of connections. */
export type Load = {
  method: 'GET' | 'POST' | 'DELETE';
  /**
   * Requested in turn. With wrk, each request replaces `{id}` in the only path by the next number, and `{id%N}` there
   * and in the token by another number from 1 to N.
   */
  paths: readonly [string, ...string[]];
  /** Each request replaces `{spread}` in it by another text; autocannon does not. */
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

export type Generator = 'wrk' | 'autocannon';

export const generator: Generator = isInstalled('wrk') ? 'wrk' : 'autocannon';

/** Sends the load to a server for a time, from the load's core. */
export async function sendLoad(url: string, load: Load, seconds: number): Promise<LoadResult> {
  const before = endedChildrenCpuSeconds();
  const result = generator === 'wrk' ? await wrk(url, load, seconds) : await autocannon(url, load, seconds);
  return { ...result, cpuSeconds: endedChildrenCpuSeconds() - before };
}

type Measured = Omit<LoadResult, 'cpuSeconds'>;

async function wrk(url: string, load: Load, seconds: number): Promise<Measured> {
  const { method, paths, body, header, token, connections } = load;
  const script = fileURLToPath(new URL('load.lua', import.meta.url));
  const output = await run([
    'wrk',
    ...['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s', '-s', script],
    ...headerArguments(token),
    ...(header === undefined ? [] : ['-H', header]),
    ...[url, '--', method, body ?? '', ...paths],
  ]);
  const result = /^RESULT (.*)$/m.exec(output)?.[1];
  if (!result) throw new Error(`wrk gave no result:\n${output}`);
  // Written by load.lua, with these members.
  return JSON.parse(result);
}

async function autocannon(url: string, load: Load, seconds: number): Promise<Measured> {
  const { method, paths, body, header, token, connections } = load;
  const output = await run([
    process.execPath,
    fileURLToPath(import.meta.resolve('autocannon')),
    ...['--json', '-n', '-c', String(connections), '-d', String(seconds), '-m', method],
    ...(body === undefined ? [] : ['-b', body, '-H', 'content-type: application/json']),
    ...headerArguments(token),
    ...(header === undefined ? [] : ['-H', header]),
    // It asks for one path only.
    url + paths[0],
  ]);
  const result: AutocannonResult = JSON.parse(output);
  return {
    requests: result.requests.total,
    seconds: result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    failures: result.errors + result.timeouts + result.non2xx,
  };
}

type AutocannonResult = {
  requests: { total: number };
  duration: number;
  latency: { p50: number; p99: number };
  errors: number;
  timeouts: number;
  non2xx: number;
};

function headerArguments(token: string | undefined): string[] {
  return token === undefined ? [] : ['-H', `authorization: Bearer ${token}`];
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

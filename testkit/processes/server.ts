import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from '../service/answer.ts';
import { greetedUrl, type Launched, launch, type Outcome, outcomeOf, untilGreeted } from './program.ts';

/** A `serve` in a process of its own, which a test may end as it likes. */
export type Server = {
  /** Without a slash at its end. */
  url: string;
  port: number;
  pid: number;
  /** Standard error until it was ready. */
  greeting: string;
  /** As admin, with the token that the server was started with. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  signal(signal: NodeJS.Signals): void;
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when the process is gone. */
  stop(): Promise<Outcome>;
  /** Resolves when the process is gone, however it ended; standard error from its first line on. */
  ended: Promise<Outcome>;
};

export type RequestOptions = {
  token?: string;
  /** Sent as JSON. */
  body?: unknown;
};

export type ServeOptions = {
  env?: Record<string, string>;
  /** A command that runs the server, such as `setpriv` with its options: the server's own command follows. */
  through?: readonly string[];
};

/** The bootstrap token of every server here that was given no other. */
export const TOKEN = 'a-bootstrap-token-that-only-tests-know';

/** How long the end of a process may take to show after its connections broke. */
const ENDED_MS = 500;
/** Long even on a busy machine. */
const START_MS = 60_000;

/** Starts `serve` on a free port and waits until it has greeted. Rejects with what it said when it ends first. */
export async function startServer(dataDir: string, options: ServeOptions = {}): Promise<Server> {
  const started = await tryToServe(dataDir, options);
  if ('url' in started) return started;
  throw new Error(`The program ended: ${started.stderr}`);
}

/** The same without a bootstrap token, so that the first start creates a token and shows it. */
export function serve(dataDir: string, env: Record<string, string> = {}): Promise<Server> {
  return startServer(dataDir, { env: { BOOTSTRAP_TOKEN: '', ...env } });
}

/** Starts `serve`, but resolves with its end when it ends first. It is killed when it has done neither after a minute. */
export async function tryToServe(dataDir: string, options: ServeOptions = {}): Promise<Server | Outcome> {
  const child = launchServe(dataDir, options);
  const ended = outcomeOf(child);
  const late = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const greeting = await untilGreeted(child, ended).catch(() => undefined);
  clearTimeout(late);
  return greeting === undefined ? ended : serverOf(child, { ended, greeting, ...options });
}

function serverOf(
  child: Launched,
  { ended, greeting, env }: ServeOptions & Pick<Server, 'ended' | 'greeting'>,
): Server {
  const url = greetedUrl(greeting);
  const token = env?.BOOTSTRAP_TOKEN ?? TOKEN;
  return {
    url,
    port: Number(new URL(url).port),
    // A process that has said something has an id.
    pid: child.pid ?? 0,
    greeting,
    request: (method, path, request = {}) =>
      send(url + path, method, { token, ...request }).catch(async (error) => {
        // A connection that breaks is often the end of the process.
        const end = await Promise.race([ended, pause(ENDED_MS)]);
        throw new Error(`${method} ${path}: ${end ? `the program ended: ${end.stderr}` : 'it runs'}`, {
          cause: error,
        });
      }),
    signal: (signal) => void child.kill(signal),
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
    ended,
  };
}

/** Starts a `serve` that is expected to end by itself; one that greets instead is killed. */
export async function failToServe(dataDir: string, options: ServeOptions = {}): Promise<Outcome> {
  const started = await tryToServe(dataDir, options);
  if (!('url' in started)) return started;
  await started.kill();
  return started.ended;
}

function launchServe(dataDir: string, { env, through }: ServeOptions): Launched {
  const settings = { PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_TOKEN: TOKEN, ...env };
  return launch(['serve'], settings, through);
}

async function send(url: string, method: string, { token, body }: RequestOptions): Promise<Answer> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  const init: RequestInit = { method, headers };
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

import { once } from 'node:events';
import { createServer } from 'node:net';
import { createKeySource } from '../../access/jwt-documents.ts';
import type { Config } from '../../config/config.ts';
import { addressOf } from '../../config/database-url.ts';
import { checks as limits } from '../limits.ts';
import { counted } from '../terminal/terminal.ts';
import { compareClocks, type Finding, ok, problem, reasonIn, warning } from './check.ts';

/** Checks that a running server, or the proxy in front of it, answers; if none runs, that one could start. */
export async function* checkService(config: Config, isServed: boolean): AsyncGenerator<Finding> {
  const { host, port, metricsPort, metricsHost, publicUrl } = config;
  if (isServed) {
    yield await checkServer(host, port);
    if (publicUrl !== undefined) yield* checkPublicUrl(publicUrl);
  } else {
    yield await checkPort('Port', host, port);
    if (metricsPort !== undefined) yield await checkPort('Metrics port', metricsHost, metricsPort);
  }
}

/** Whether a server answers there. For a database no lock tells whether one runs. */
export async function isAnswering({ host, port }: Config): Promise<boolean> {
  const answer = await ask(`${urlOf(host, port)}/readyz`);
  return typeof answer === 'object' && (answer.status === 200 || answer.status === 503);
}

async function checkServer(host: string, port: number): Promise<Finding> {
  // Port 0: the server may have picked any.
  if (port === 0) return ok('Server', 'runs on this data folder');
  const url = urlOf(host, port);
  const answer = await ask(`${url}/readyz`);
  if (typeof answer === 'string') {
    return warning(
      'Server',
      `a server runs on this data folder, but does not answer at ${url}: ${answer}`,
      'Run doctor with the settings of serve (PORT, HOST). If they are the same, check the log and restart the server.',
    );
  }
  if (answer.status === 200) return ok('Server', `runs and is ready: ${url}`);
  const advice = 'Check its log; plant-store status says more.';
  return problem('Server', `runs, but is not ready: ${url} answers ${answer.status}`, advice);
}

/** With the address to connect to for a listen address. */
function urlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${addressOf({ host: reachable, port })}`;
}

async function checkPort(name: string, host: string, port: number): Promise<Finding> {
  await using server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return ok(name, port === 0 ? 'any free port' : `${port} of ${host} is free, no server runs`);
  } catch (error) {
    const text = `cannot listen on ${port} of ${host}, and no server runs on this store: ${reasonIn(error)}`;
    return problem(name, text, 'Stop the program that uses it, or set another port or address.');
  }
}

async function* checkPublicUrl(publicUrl: string): AsyncGenerator<Finding> {
  const name = 'Public URL';
  const askedAt = Date.now();
  const answer = await ask(`${publicUrl}/readyz`);
  const tookMs = Date.now() - askedAt;
  if (typeof answer === 'string') {
    const text = `${publicUrl} cannot be reached from here: ${answer}`;
    yield warning(name, text, 'Check the proxy, its host name and its certificate.');
    return;
  }
  const { status, date } = answer;
  if (status === 200) yield ok(name, `${publicUrl} answers`);
  else {
    const advice = 'Check that the proxy forwards to this service.';
    yield warning(name, `${publicUrl}/readyz answers ${status}`, advice);
  }
  const theirs = Date.parse(date ?? '');
  // The header has whole seconds, and says when the answer started.
  if (!Number.isNaN(theirs)) yield compareClocks(publicUrl, askedAt - theirs, 1000 + tookMs);
}

export async function* checkProvider({ jwtIssuer, jwtJwksUrl }: Config): AsyncGenerator<Finding> {
  if (jwtIssuer === undefined) return;
  const name = 'Identity provider';
  const location = { issuer: jwtIssuer, jwksUrl: jwtJwksUrl };
  try {
    const { keys } = await createKeySource(location, new AbortController().signal, limits.answerMs)();
    const count = Array.isArray(keys) ? keys.length : 0;
    const advice = 'No JWT is accepted: check the provider and JWT_JWKS_URL.';
    yield count > 0
      ? ok(name, `${jwtIssuer} serves ${counted(count, 'key')}`)
      : warning(name, `${jwtIssuer} serves no keys`, advice);
  } catch (error) {
    const advice =
      'After a restart no JWT is accepted: check JWT_ISSUER, JWT_JWKS_URL and the connection to the provider.';
    yield warning(name, `${jwtIssuer} does not serve its keys: ${networkReason(error)}`, advice);
  }
}

async function ask(url: string): Promise<string | { status: number; date: string | null }> {
  try {
    const { status, headers, body } = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(limits.answerMs),
    });
    await body?.cancel();
    return { status, date: headers.get('date') };
  } catch (error) {
    return networkReason(error);
  }
}

/** `fetch` keeps the reason in the cause, and what calls it may have kept its error in the same way. */
function networkReason(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return cause instanceof Error && cause.message !== '' ? networkReason(cause) : reasonIn(error);
}

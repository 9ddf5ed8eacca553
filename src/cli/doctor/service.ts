import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../config/config.ts';
import { checks as limits } from '../limits.ts';
import { type Finding, ok, problem, reasonIn, warning } from './check.ts';
import { compareClocks } from './machine.ts';

/** Whether the server that runs, or whatever stands before it, answers; or, when none runs, whether one could. */
export async function checkService(config: Config, isServed: boolean): Promise<Finding[]> {
  const { host, port, metricsPort, metricsHost, publicUrl } = config;
  const findings = isServed ? await checkServer(host, port) : await checkPort('Port', host, port);
  if (!isServed && metricsPort !== undefined)
    findings.push(...(await checkPort('Metrics port', metricsHost, metricsPort)));
  if (isServed && publicUrl !== undefined) findings.push(...(await checkPublicUrl(publicUrl)));
  return findings;
}

async function checkServer(host: string, port: number): Promise<Finding[]> {
  // It may have picked any.
  if (port === 0) return [ok('Server', 'runs on this data folder')];
  const url = `http://${reachable(host)}:${port}`;
  const answer = await ask(`${url}/readyz`);
  if (typeof answer === 'string') {
    return [
      warning(
        'Server',
        `one runs on this data folder, but not at ${url}: ${answer}`,
        'Give doctor the settings that serve has (PORT, HOST). If they are the same, look at the log, and restart it.',
      ),
    ];
  }
  if (answer.status === 200) return [ok('Server', `runs, and is ready: ${url}`)];
  const advice = 'Look at its log; plant-store status says more.';
  return [problem('Server', `runs, but is not ready: ${url} answers ${answer.status}`, advice)];
}

/** An address to connect to, of one to listen on. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function checkPort(name: string, host: string, port: number): Promise<Finding[]> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return [ok(name, port === 0 ? 'any that is free' : `${port} of ${host} is free, no server runs`)];
  } catch (error) {
    const text = `${port} of ${host} cannot be listened on, and no server runs on this store: ${reasonIn(error)}`;
    return [problem(name, text, 'Stop what listens there, or set another port or address.')];
  } finally {
    server.close();
  }
}

async function checkPublicUrl(publicUrl: string): Promise<Finding[]> {
  const name = 'Public URL';
  const askedAt = Date.now();
  const answer = await ask(`${publicUrl}/readyz`);
  if (typeof answer === 'string') {
    return [
      warning(
        name,
        `${publicUrl} cannot be reached from here: ${answer}`,
        'See to the proxy, its name and its certificate.',
      ),
    ];
  }
  const findings =
    answer.status === 200
      ? [ok(name, `${publicUrl} answers`)]
      : [
          warning(
            name,
            `${publicUrl}/readyz answers ${answer.status}`,
            'See that the proxy leads to this service.',
          ),
        ];
  const theirs = Date.parse(answer.date ?? '');
  // The header has whole seconds, and tells when the answer began.
  if (!Number.isNaN(theirs)) {
    findings.push(compareClocks(publicUrl, askedAt - theirs, 1000 + Date.now() - askedAt));
  }
  return findings;
}

/** Why there was no answer, or what it was. */
async function ask(url: string): Promise<string | { status: number; date: string | null }> {
  try {
    const { status, headers, body } = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(limits.answerMs),
    });
    await body?.cancel();
    return { status, date: headers.get('date') };
  } catch (error) {
    const { cause } = error instanceof Error ? error : {};
    return reasonIn(cause instanceof Error && cause.message !== '' ? cause : error);
  }
}

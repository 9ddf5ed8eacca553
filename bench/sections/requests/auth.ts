import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { scopes } from '../../../src/access/scopes.ts';
import { type IdentityProvider, startIdentityProvider } from '../../../testkit/identity/identity-provider.ts';
import { askFor } from '../../load/client.ts';
import type { Load } from '../../load/load.ts';
import { compare, ratios, type Sample } from '../../measure/compare.ts';
import type { Figure, Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { watchCpu } from '../../measure/usage.ts';
import type { Server } from '../../servers/server.ts';
import { createToken, loadingFirst, startService } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const CONNECTIONS = 32;
const PLANTS = 1000;
const PAGE = '/plants?limit=20';
/** The owner of the plants. */
const USER = 'admin';

const WITH_OPAQUE = 'auth: opaque token';
const WITH_JWT = 'auth: JWT';
const WITHOUT = 'auth: no authentication';
const UNREAD = 'auth: no authentication, a JWT is sent';

/**
 * The cost of authentication against the same service without it: the header on the wire, reading it, the lookup of a
 * known token, the scope.
 */
export async function auth(bench: Bench): Promise<Report> {
  const provider = await startIdentityProvider();
  const serviceDir = await storeIn(bench, 'auth');
  const service = await startService({ dataDir: serviceDir, env: provider.settings });
  const open = await startService({
    dataDir: await storeIn(bench, 'auth-open'),
    env: loadingFirst('without-authentication'),
  });

  const opaque = createToken(serviceDir, USER);
  const jwt = await issue(provider);
  const load: Load = { method: 'GET', paths: [PAGE], connections: CONNECTIONS };
  const loads = await compare(
    [
      { name: WITH_OPAQUE, server: service, load: { ...load, token: opaque } },
      { name: WITH_JWT, server: service, load: { ...load, token: jwt } },
      { name: WITHOUT, server: open, load },
      { name: UNREAD, server: open, load: { ...load, token: jwt } },
    ],
    roundsOf(bench),
  );
  const first = await timeFirst(service, provider, bench.quick ? 500 : 4000);
  await Promise.all([service.stop(), open.stop(), provider.stop()]);
  return {
    figures: [...figures(loads), first],
    loads,
    notes: [`auth: the opaque token has ${opaque.length} characters, the JWT ${jwt.length} (ES256)`],
  };
}

/** A JWT of the user with every scope, valid for an hour; no two are the same. */
function issue({ sign, claims }: IdentityProvider): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  return sign(claims({ sub: USER, scope: scopes.join(' '), exp, jti: randomUUID() }));
}

/** Each process serves its own store. */
function storeIn(bench: Bench, name: string): Promise<string> {
  const folder = join(bench.folder, name);
  mkdirSync(folder);
  return filledStore(folder, PLANTS);
}

function figures(loads: Map<string, Sample[]>): Figure[] {
  const against = (name: string) => ratios(loads, [name, WITHOUT]);
  const microseconds = (name: string) => differences(loads, name, WITHOUT);
  const name = `GET ${PAGE}, ${CONNECTIONS} connections, opaque token, against no authentication`;
  return [
    { name, unit: '×', values: against(WITH_OPAQUE), target: { atLeast: 0.9 } },
    { name: 'the same, JWT', unit: '×', values: against(WITH_JWT), target: { atLeast: 0.85 } },
    { name: 'additional CPU per answer: opaque token', unit: 'µs', values: microseconds(WITH_OPAQUE) },
    { name: 'the same, JWT', unit: 'µs', values: microseconds(WITH_JWT) },
    { name: 'the same, a JWT that is not read', unit: 'µs', values: microseconds(UNREAD) },
  ];
}

/** The additional CPU time per answer, round by round. */
function differences(loads: Map<string, Sample[]>, name: string, against: string): number[] {
  const others = loads.get(against) ?? [];
  return (loads.get(name) ?? []).flatMap(({ cpuPerAnswer }, round) => {
    const other = others[round];
    return other ? [cpuPerAnswer - other.cpuPerAnswer] : [];
  });
}

/** The cost of a new JWT, whose signature must be verified, against its second use. */
async function timeFirst(service: Server, provider: IdentityProvider, count: number): Promise<Figure> {
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) tokens.push(await issue(provider));
  const first = await cpuPerAnswer(service, tokens);
  const second = await cpuPerAnswer(service, tokens);
  return {
    name: `additional CPU for the first answer to each of ${count} JWTs, against the second`,
    unit: 'µs',
    values: [first - second],
  };
}

/** Sends one request with each token, several at a time: the service's CPU time in microseconds per request. */
async function cpuPerAnswer(service: Server, tokens: string[]): Promise<number> {
  const left = tokens.values();
  const stop = watchCpu([service.pid]);
  const client = async () => {
    for (const token of left) await askFor(`${service.url}${PAGE}`, { token });
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  const [used = 0] = stop().watched;
  return (used / tokens.length) * 1e6;
}

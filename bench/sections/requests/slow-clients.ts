import { setTimeout as sleep } from 'node:timers/promises';
import { type Load, sendLoad } from '../../load/load.ts';
import { startSlowClients } from '../../load/slow-clients.ts';
import { peakResidentBytes } from '../../measure/proc.ts';
import type { Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { remarks, watchCpu } from '../../measure/usage.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const CONNECTIONS = 32;
const EACH = 1_000;
/** Their list is 4 MB: more than the system buffers of a response that nobody reads. */
const PLANTS = 100_000;
const MIB = 1024 ** 2;
/** Until the system's buffers are full, since readers are not slow before that; and until all have left. */
const SETTLE_MS = 10_000;

/**
 * p99 of healthy clients with 1000 clients that send their headers byte by byte and 1000 that read so, against
 * without them.
 */
export async function slowClients(bench: Bench): Promise<Report> {
  const { rounds, seconds } = bench.quick ? { rounds: 2, seconds: 3 } : { rounds: 5, seconds: 10 };
  const service = await startService({
    dataDir: await filledStore(bench.folder, PLANTS),
    // All connections come from one address, which may have more than one client's share.
    env: { TRUST_PROXY: '127.0.0.0/8' },
  });
  const { hostname: host, port } = new URL(service.url);
  const load: Load = { method: 'GET', paths: ['/plants?limit=20'], token: TOKEN, connections: CONNECTIONS };
  await sendLoad(service.url, load, seconds);
  const stop = watchCpu([service.pid]);
  const pairs = [];
  const notes: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await sendLoad(service.url, load, seconds);
    const slow = await startSlowClients({
      ...{ host, port: Number(port), token: TOKEN },
      ...{ senders: EACH, readers: EACH, path: '/plants', sipBytes: 16 },
    });
    await sleep(SETTLE_MS);
    const beside = await sendLoad(service.url, load, seconds);
    notes.push(`slow-clients: ${await slow.connected()} were connected at the end of round ${round + 1}`);
    await slow.stop();
    await sleep(SETTLE_MS);
    const failures = without.failures + beside.failures;
    if (failures > 0) notes.push(`slow-clients: ${failures} requests of healthy clients failed`);
    pairs.push({ without, beside });
  }
  const largest = peakResidentBytes(service.pid) / MIB;
  notes.push(...remarks('slow-clients', stop()));
  await service.stop();
  return {
    figures: [
      {
        name: `p99 of healthy clients with ${EACH} slow senders and ${EACH} slow readers, against without`,
        unit: '×',
        values: pairs.map(({ without, beside }) => beside.p99 / without.p99),
        target: { atMost: 2 },
      },
      { name: 'p99 of healthy clients without', unit: 'ms', values: pairs.map(({ without }) => without.p99) },
      {
        name: 'p99 of healthy clients with them',
        unit: 'ms',
        values: pairs.map(({ beside }) => beside.p99),
      },
      {
        name: 'answers to healthy clients with them, against without',
        unit: '×',
        values: pairs.map(({ without, beside }) => beside.requests / without.requests),
      },
      { name: 'largest RSS of the service', unit: 'MiB', values: [largest] },
    ],
    notes,
  };
}

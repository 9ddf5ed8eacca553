import { setTimeout as sleep } from 'node:timers/promises';
import { type Load, sendLoad } from '../../load/load.ts';
import { startSlowClients } from '../../load/slow-clients.ts';
import { cpuSeconds, forgetPeak, peakResidentBytes, residentBytes } from '../../measure/proc.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { createToken, startService, TOKEN } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const MIB = 1024 ** 2;
const MOST_MIB = 256;
/** The service is idle when it has used no more CPU than this in this time. */
const IDLE_MS = 3_000;
const IDLE_SHARE = 0.05;

/** The cost of 5000 clients that request a list and read nothing of it, and of 1200 that do so with a long one. */
export async function stalledReaders(bench: Bench): Promise<Report> {
  const long = bench.quick ? 200_000 : 2_000_000;
  return {
    figures: [
      await growth(bench, { plants: 100_000, readers: 5_000, tokens: 5, what: '4 MB' }),
      await growth(bench, { plants: long, readers: 1_200, tokens: 1, what: `${(long * 44) / 1e6} MB` }),
    ],
  };
}

const PAGES: Load = { method: 'GET', paths: ['/plants?limit=20'], token: TOKEN, connections: 32 };

type Stalled = { plants: number; readers: number; tokens: number; what: string };

async function growth(bench: Bench, { plants, readers, tokens, what }: Stalled): Promise<Figure> {
  const values: number[] = [];
  for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
    const dataDir = await filledStore(bench.folder, plants);
    // All connections come from one address, which may have more than one client's share.
    const service = await startService({ dataDir, env: { TRUST_PROXY: '127.0.0.0/8' } });
    const { hostname: host, port } = new URL(service.url);
    // The cost of unrelated work.
    await sendLoad(service.url, PAGES, 2);
    const before = residentBytes(service.pid);
    forgetPeak(service.pid);
    const stalled = [];
    for (let i = 0; i < tokens; i++) {
      const token = i === 0 ? TOKEN : createToken(dataDir, 'admin');
      const task = {
        host,
        port: Number(port),
        token,
        senders: 0,
        readers: readers / tokens,
        path: '/plants',
      };
      stalled.push(await startSlowClients({ ...task, sipBytes: 0 }));
    }
    await untilIdle(service.pid);
    values.push((peakResidentBytes(service.pid) - before) / MIB);
    for (const clients of stalled) await clients.stop();
    await service.stop();
  }
  return {
    name: `growth of memory (RSS) with ${readers} stalled readers of a list of ${what}, ${tokens} token${tokens > 1 ? 's' : ''}`,
    unit: 'MiB',
    values,
    target: { atMost: MOST_MIB },
  };
}

async function untilIdle(pid: number): Promise<void> {
  for (let before = -Infinity; ; await sleep(IDLE_MS)) {
    const used = cpuSeconds(pid);
    if (used - before < (IDLE_SHARE * IDLE_MS) / 1000) return;
    before = used;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { builtProgram } from '../../../testkit/processes/executable.ts';
import { ask } from '../../load/client.ts';
import { residentBytes } from '../../measure/proc.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { type ServiceOptions, startService } from '../../servers/service.ts';
import { filledStore } from '../../stores/fill.ts';

const MIB = 1024 * 1024;
const IDLE_MS = 5_000;
const IDLE_STARTS = 3;
const POLL_MS = 2;

/** From the start of the process to the first 200 of `/readyz`, and its memory when idle: installed, and in a checkout. */
export async function start(bench: Bench): Promise<Report> {
  const plants = bench.quick ? 100_000 : 1_000_000;
  const dataDir = await filledStore(bench.folder, plants);
  const figures: Figure[] = [];
  for (const [name, root] of [
    ['installed', builtProgram()],
    ['a checkout', undefined],
  ] as const) {
    const { seconds, mib } = await started({ dataDir, root }, bench.quick ? 3 : 10);
    figures.push(
      {
        name: `start to ready, ${plants} plants, ${name}`,
        unit: 's',
        values: seconds,
        target: { atMost: 0.3 },
      },
      {
        name: `RSS, idle for ${IDLE_MS / 1000} s, ${name}`,
        unit: 'MiB',
        values: mib,
        target: { atMost: 100 },
      },
    );
  }
  return { figures };
}

async function started(options: ServiceOptions, times: number) {
  const seconds: number[] = [];
  const mib: number[] = [];
  for (let i = 0; i < times; i++) {
    const begin = performance.now();
    const service = await startService(options);
    while ((await ask(`${service.url}/readyz`)).status !== 200) await sleep(POLL_MS);
    seconds.push((performance.now() - begin) / 1000);
    // The first start after a change compiles the program again, which takes time and memory once.
    if (i >= times - IDLE_STARTS) {
      await sleep(IDLE_MS);
      mib.push(residentBytes(service.pid) / MIB);
    }
    await service.stop();
  }
  return { seconds, mib };
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { askFor } from '../../load/client.ts';
import { pace, percentile } from '../../load/pace.ts';
import { sample } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startService } from '../../servers/service.ts';
import { slowFlushes } from '../../servers/slow-flushes.ts';
import { isInstalled } from '../../servers/tools.ts';
import { createLoad } from './create.ts';

const EXTRA_MS = 10;
const READS_PER_SECOND = 100;

/** The same creates on a disk whose flushes take 10 ms longer, with concurrent reads. */
export async function slowDisk(bench: Bench): Promise<Report> {
  if (!isInstalled('strace')) {
    return {
      figures: [],
      notes: ['slow-disk was skipped: it slows the disk down with strace, which is missing'],
    };
  }
  const dataDir = join(bench.folder, 'slow-disk');
  mkdirSync(dataDir);
  const service = await startService({
    dataDir,
    prefix: slowFlushes(join(bench.folder, 'strace.log'), EXTRA_MS),
  });
  const { rounds, seconds, warmUpSeconds } = roundsOf(bench);
  const contender = { name: 'slow-disk: service', server: service, load: createLoad };
  await sample(contender, warmUpSeconds);
  const samples = [];
  const p99s: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const reads = pace(READS_PER_SECOND, () => askFor(`${service.url}/plants?limit=20`));
    samples.push(await sample(contender, seconds));
    p99s.push(percentile(await reads.end(), 99));
  }
  await service.stop();
  return {
    figures: [
      {
        name: `durable POST /plants when each fsync takes ${EXTRA_MS} ms longer`,
        unit: '/s',
        values: samples.map(({ rate }) => rate),
        target: { atLeast: 2500 },
      },
      { name: 'p99 of GETs meanwhile', unit: 'ms', values: p99s, target: { atMost: 10 } },
    ],
    loads: new Map([[contender.name, samples]]),
  };
}

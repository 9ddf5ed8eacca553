import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Load } from '../../load/load.ts';
import { interleave, ratios, sample } from '../../measure/compare.ts';
import type { Report } from '../../measure/report.ts';
import { type Bench, roundsOf } from '../../measure/section.ts';
import { startReference, startService, TOKEN } from '../../servers/service.ts';
import { filledStore, refillPlants } from '../../stores/fill.ts';
import { createLoad } from './create.ts';

/** More than a round deletes; a missing plant would fail the round. */
const PLANTS = 200_000;
/** Until the last requests, whose answers nobody reads any more, have taken effect. */
const SETTLE_MS = 200;

/** Durable deletes against the limit: in the order of their ids, and in no order. */
export async function deletes(bench: Bench): Promise<Report> {
  const folder = join(bench.folder, 'delete');
  mkdirSync(folder);
  const dataDir = await filledStore(folder, PLANTS);
  const service = await startService({ dataDir });
  const bare = await startReference('bare');
  const { rounds, seconds, warmUpSeconds } = roundsOf(bench);
  const contenders = [
    { name: 'delete: service', server: service, load: loadOf('/plants/{id}') },
    { name: 'delete: service, in no order', server: service, load: loadOf(`/plants/{id%${PLANTS}}`) },
    { name: 'delete: bare node:http', server: bare, load: loadOf('/plants/{id}') },
  ];
  const takes = contenders.map((contender) => {
    const take = async (forSeconds: number) => {
      await sleep(SETTLE_MS);
      refillPlants(dataDir, PLANTS);
      return sample(contender, forSeconds);
    };
    return [contender.name, take] as const;
  });
  for (const [, take] of takes) await take(warmUpSeconds);
  const loads = await interleave(new Map(takes.map(([name, take]) => [name, () => take(seconds)])), rounds);
  await Promise.all([service.stop(), bare.stop()]);
  const against = (name: string) => ratios(loads, [name, 'delete: bare node:http']);
  return {
    figures: [
      {
        name: `durable DELETE /plants/{id}, ${createLoad.connections} connections, against bare node:http`,
        unit: '×',
        values: against('delete: service'),
        target: { atLeast: 0.55 },
      },
      { name: 'the same, ids in no order', unit: '×', values: against('delete: service, in no order') },
    ],
    loads,
  };
}

function loadOf(path: string): Load {
  return { method: 'DELETE', paths: [path], token: TOKEN, connections: createLoad.connections };
}

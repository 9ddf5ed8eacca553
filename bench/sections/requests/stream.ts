import { once } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { askFor, open } from '../../load/client.ts';
import { forgetPeak, peakResidentBytes, residentBytes } from '../../measure/proc.ts';
import type { Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import type { Server } from '../../servers/server.ts';
import { startService } from '../../servers/service.ts';
import { filledPlant, filledStore } from '../../stores/fill.ts';

const MIB = 1024 * 1024;
const WARM_UP_REQUESTS = 500;

/** The slow reader takes a little, waits, and after its patience is over reads the rest as fast as it can. */
const SIP_BYTES = 64 * 1024;
const SIP_PAUSE_MS = 50;

/** The whole list, streamed: its memory, its first byte, and whether it is correct. */
export async function stream(bench: Bench): Promise<Report> {
  const plants = bench.quick ? 100_000 : 1_000_000;
  const slowMs = bench.quick ? 2_000 : 15_000;
  const dataDir = await filledStore(bench.folder, plants);

  const firstBytes = await withService(dataDir, (service) => timesToFirstByte(service, bench.quick ? 3 : 10));
  const growth = (read: (url: string) => Promise<string>) =>
    withService(dataDir, (service) => memoryGrowth(service, read, plants));
  const fast = await growth((url) => readAll(url));
  const slow = await growth((url) => readAll(url, slowMs));
  const size = `list of ${plants} plants`;
  return {
    figures: [
      { name: `${size}: growth of RSS`, unit: 'MiB', values: [fast.mib], target: { atMost: 64 } },
      { name: 'the same, slow reader', unit: 'MiB', values: [slow.mib], target: { atMost: 64 } },
      { name: `${size}: first byte`, unit: 'ms', values: firstBytes, target: { atMost: 50 } },
      { name: `${size}: last byte, fast reader`, unit: 's', values: [fast.seconds] },
    ],
    notes: [
      `stream: both readers got ${plants} plants, each as it was stored and in its place; the slow one paused for ${slowMs / 1000} s`,
    ],
  };
}

/** A fresh, warmed-up process for each measurement: memory left by earlier requests is not growth. */
async function withService<T>(dataDir: string, measure: (service: Server) => Promise<T>): Promise<T> {
  const service = await startService({ dataDir });
  for (let i = 0; i < WARM_UP_REQUESTS; i++) await askFor(`${service.url}/plants?limit=20`);
  const result = await measure(service);
  await service.stop();
  return result;
}

async function timesToFirstByte(service: Server, times: number): Promise<number[]> {
  const results: number[] = [];
  for (let i = 0; i < times; i++) {
    const start = performance.now();
    const answer = await open(`${service.url}/plants`, { agent: new Agent() });
    await once(answer, 'readable');
    answer.read(1);
    results.push(performance.now() - start);
    answer.destroy();
  }
  return results;
}

async function memoryGrowth(service: Server, read: (url: string) => Promise<string>, plants: number) {
  forgetPeak(service.pid);
  const before = residentBytes(service.pid);
  const start = performance.now();
  const body = await read(`${service.url}/plants`);
  const seconds = (performance.now() - start) / 1000;
  const mib = (peakResidentBytes(service.pid) - before) / MIB;
  assertFilled(body, plants);
  return { mib, seconds };
}

async function readAll(url: string, slowMs = 0): Promise<string> {
  const answer = await open(url, { agent: new Agent() });
  const slowUntil = performance.now() + slowMs;
  const chunks: Buffer[] = [];
  let sip = 0;
  for await (const chunk of answer) {
    chunks.push(chunk);
    sip += chunk.length;
    if (sip < SIP_BYTES || performance.now() > slowUntil) continue;
    sip = 0;
    await sleep(SIP_PAUSE_MS);
  }
  return Buffer.concat(chunks).toString();
}

function assertFilled(body: string, plants: number): void {
  const list: unknown = JSON.parse(body);
  if (!Array.isArray(list) || list.length !== plants)
    throw new Error(`The list does not have ${plants} plants`);
  const wrong = list.findIndex((plant, index) => !isDeepStrictEqual(plant, filledPlant(index + 1)));
  if (wrong >= 0) throw new Error(`Plant ${wrong + 1} of the list is wrong: ${JSON.stringify(list[wrong])}`);
}

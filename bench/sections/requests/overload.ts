import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Load, sendLoad } from '../../load/load.ts';
import { type OpenLoadResult, sendOpenLoad } from '../../load/open-loop.ts';
import { residentBytes } from '../../measure/proc.ts';
import type { Figure, Report } from '../../measure/report.ts';
import type { Bench } from '../../measure/section.ts';
import { remarks, type Usage, watchCpu } from '../../measure/usage.ts';
import type { Server } from '../../servers/server.ts';
import { startService, TOKEN } from '../../servers/service.ts';
import { slowFlushes } from '../../servers/slow-flushes.ts';
import { isInstalled } from '../../servers/tools.ts';
import { filledStore } from '../../stores/fill.ts';
import { createLoad } from './create.ts';

const TIMES = 10;
const PLANTS = 1_000;
const MIB = 1024 ** 2;
/** All connections come from one address, which may have more than one client's share. */
const env = { TRUST_PROXY: '127.0.0.0/8' };
/** So slow that the waiting writes exceed the disk's capacity, however many are committed together. */
const FLUSH_MS = 800;

/** `peak`: as many connections as keep the service busy, and no more. */
type Case = { name: string; service: Server; peak: Load; connections: number; mostConnections: number };

/** Ten times as many requests as the service can answer, sent whether or not it answers. */
export async function overload(bench: Bench): Promise<Report> {
  const reports = [await reads(bench)];
  if (isInstalled('strace')) reports.push(await writes(bench));
  else reports.push({ figures: [], notes: ['overload of writes was skipped: strace is missing'] });
  return {
    figures: reports.flatMap(({ figures }) => figures),
    notes: reports.flatMap(({ notes }) => notes ?? []),
  };
}

/**
 * The longest pages of events, which exceed the capacity of the service's core. Short responses would not do: a
 * refusal takes some 10 µs, so nine of them leave 85 % of the time only to requests that take 600 µs or more.
 */
async function reads(bench: Bench): Promise<Report> {
  const service = await startService({ dataDir: await filledStore(bench.folder, PLANTS), env });
  const path = `/events?limit=${PLANTS}`;
  const peak: Load = { method: 'GET', paths: [path], token: TOKEN, connections: 32 };
  return measure(bench, { name: `GET ${path}`, service, peak, connections: 500, mostConnections: 4_000 });
}

/** Creates, which exceed the capacity of a disk. */
async function writes(bench: Bench): Promise<Report> {
  const dataDir = join(bench.folder, 'overload');
  mkdirSync(dataDir);
  const prefix = slowFlushes(join(bench.folder, 'strace.log'), FLUSH_MS);
  const service = await startService({ dataDir, env, prefix });
  const peak: Load = { ...createLoad, connections: 3_000 };
  const name = `POST /plants when each fsync takes ${FLUSH_MS} ms longer`;
  return measure(bench, { name, service, peak, connections: 6_500, mostConnections: 9_500 });
}

async function measure(bench: Bench, { name, service, peak, ...connections }: Case): Promise<Report> {
  const { warmUp, closed, seconds } = bench.quick
    ? { warmUp: 2, closed: 3, seconds: 10 }
    : { warmUp: 4, closed: 10, seconds: 60 };
  await sendLoad(service.url, peak, warmUp);
  const best = await sendLoad(service.url, peak, closed);
  const rate = best.requests / best.seconds;
  const { method, body, paths } = peak;
  const request = { method, path: paths[0], token: TOKEN, ...(body === undefined ? {} : { body }) };
  const load = { ...request, ...connections, perSecond: TIMES * rate, seconds };
  bench.say(`overload: ${name}: ${rate.toFixed(0)}/s at best, now ${load.perSecond.toFixed(0)}/s`);
  const memory = watchMemory(service.pid);
  const stop = watchCpu([service.pid, process.pid]);
  const result = await sendOpenLoad(service.url, load);
  const usage = stop();
  const growth = memory.stop();
  const after = await sendLoad(service.url, peak, closed);
  await service.stop();
  return {
    figures: figuresOf(name, { rate, result, growth, recovered: after.requests / after.seconds }),
    notes: [
      ...notesOf(name, best.failures + after.failures, result),
      busyNote(name, usage),
      ...remarks(`overload: ${name}`, usage),
    ],
  };
}

type Measured = { rate: number; result: OpenLoadResult; growth: number; recovered: number };

function figuresOf(name: string, { rate, result, growth, recovered }: Measured): Figure[] {
  const { goodput, refused, good } = result;
  return [
    {
      name: `${name}: goodput at ${TIMES} times the peak, against the peak`,
      unit: '×',
      // One value per ten seconds, so that the least shows fluctuation.
      values: tenths(goodput).map((perSecond) => perSecond / rate),
      target: { atLeast: 0.85 },
    },
    { name: `${name}: p99 of refusals`, unit: 'ms', values: [refused.p99], target: { atMost: 50 } },
    { name: `${name}: p50 of refusals`, unit: 'ms', values: [refused.p50] },
    { name: `${name}: p99 of answers`, unit: 'ms', values: [good.p99] },
    {
      name: `${name}: statuses of 500 and above except 503`,
      unit: '',
      values: [unwanted(result)],
      target: { atMost: 0 },
    },
    {
      name: `${name}: growth of RSS in the second half`,
      unit: 'MiB',
      values: [growth],
      target: { atMost: 16 },
    },
    { name: `${name}: peak afterwards, against before`, unit: '×', values: [recovered / rate] },
  ];
}

function notesOf(
  name: string,
  failures: number,
  { statuses, sent, unsent, broken, lateness }: OpenLoadResult,
): string[] {
  const codes = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  return [
    `${name}: ${sent} requests sent, answered ${codes.join(', ')}; ${broken} connections broke; ${unsent} could not be sent`,
    `${name}: requests left ${lateness.p50} ms (p50), ${lateness.p99} ms (p99) later than they were due`,
    ...(failures > 0 ? [`${name}: ${failures} requests failed at the peak itself`] : []),
  ];
}

function busyNote(name: string, { watched, seconds }: Usage): string {
  const [service, generator] = watched.map((used) => `${((used / seconds) * 100).toFixed(0)} %`);
  return `${name}: the service took ${service} of a core, the generator ${generator}`;
}

/** The means of ten parts of a series. */
function tenths(row: number[]): number[] {
  const size = Math.max(1, Math.floor(row.length / 10));
  const parts = Array.from({ length: Math.floor(row.length / size) }, (_, i) =>
    row.slice(i * size, (i + 1) * size),
  );
  return parts.map(mean);
}

function mean(row: number[]): number {
  return row.reduce((sum, value) => sum + value, 0) / row.length;
}

function unwanted({ statuses }: OpenLoadResult): number {
  const others = Object.entries(statuses).filter(([status]) => Number(status) >= 500 && status !== '503');
  return others.reduce((sum, [, count]) => sum + count, 0);
}

/** Samples the resident size every half a second; the growth in MiB from the third quarter to the last. */
function watchMemory(pid: number): { stop(): number } {
  const sizes: number[] = [];
  const timer = setInterval(() => sizes.push(residentBytes(pid)), 500);
  return {
    stop() {
      clearInterval(timer);
      const quarter = Math.floor(sizes.length / 4);
      const [third, last] = [sizes.slice(2 * quarter, 3 * quarter), sizes.slice(3 * quarter)];
      return (mean(last) - mean(third)) / MIB;
    },
  };
}

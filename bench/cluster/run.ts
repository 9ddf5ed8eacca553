import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../../testkit/random/seeded.ts';
import { createUserIn } from '../servers/postgres.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type Effect, effectsOf, effectTable } from './effects.ts';
import { kinds } from './faults.ts';
import type { Finding } from './history/check.ts';
import { startMonitor } from './monitor.ts';
import { startRecording } from './recording.ts';
import { restoreCluster } from './restore.ts';
import { injectFaults, type Schedule } from './schedule.ts';
import { updateReplicas } from './update.ts';
import { USAGE } from './usage.ts';

/** The part of `node bench/cluster.ts` that runs on the machine of the clients: starts the cluster, and breaks it. */

const [folder = '', ...given] = process.argv.slice(2);
process.exit(await main());

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: given,
    options: {
      seeds: { type: 'string', default: '1' },
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '60' },
      only: { type: 'string', default: '.' },
      overlap: { type: 'boolean', default: false },
      hosts: { type: 'boolean', default: false },
      before: { type: 'string' },
      restore: { type: 'boolean', default: false },
      logs: { type: 'boolean', default: false },
    },
  });
  const [seeds, first, seconds] = [values.seeds, values.seed, values.seconds].map(Number);
  const names = Object.keys(kinds).filter((name) => new RegExp(values.only).test(name));
  if (!seeds || !seconds || Number.isNaN(first) || names.length === 0) {
    process.stdout.write(USAGE);
    return 2;
  }
  const version = execFileSync('patroni', ['--version'], { encoding: 'utf8' }).trim();
  if (Number.parseInt(version.replace(/\D*/, ''), 10) < 4) {
    throw new Error(
      `${version}: 4 or newer is needed; before, "synchronous_mode: quorum" means asynchronous`,
    );
  }
  say(`starting the cluster with ${version}; logs are in ${folder}, kept with --logs or after a failure`);
  const cluster = await startCluster(folder, values.hosts);
  await cluster.untilWhole();
  say('the cluster runs');
  if (values.restore) {
    const found = await restoreCluster(cluster, folder);
    for (const sentence of found) say(sentence);
    if (found.length === 0) say('restored: everything is as the docs promise');
    return found.length === 0 ? 0 : 1;
  }
  const [effects, findings]: [Effect[], Finding[]] = [[], []];
  for (let seed = first ?? 1; seed < (first ?? 1) + seeds; seed++) {
    const found = await runSeed(
      cluster,
      { seed, seconds, names, overlap: values.overlap, tell: say },
      values.before && resolve(values.before),
    );
    effects.push(...found.effects);
    findings.push(...found.findings);
  }
  process.stdout.write(`${effectTable(effects)}\n\n${findings.length} violations in ${seeds} runs\n`);
  return findings.length === 0 ? 0 : 1;
}

/**
 * Users of its own, so that nothing of earlier runs is in its way.
 * @param before the folder of another version, from which the replicas are updated meanwhile
 */
async function runSeed(
  cluster: Cluster,
  run: Schedule,
  before: string | undefined,
): Promise<{ effects: Effect[]; findings: Finding[] }> {
  const [, ...replicas] = cluster.urls;
  if (before) await cluster.startOver(before);
  await cluster.untilWhole();
  const user = `monitor-${run.seed}-${Date.now()}`;
  const monitor = await startMonitor(replicas, createUserIn(cluster.databaseUrl, user, cluster.program));
  const recording = await startRecording(cluster, run.seed, folder);
  const parts = [injectFaults(cluster, run)];
  if (before) parts.push(updateReplicas(cluster, seededRandom(run.seed), run.tell));
  const happened = (await Promise.all(parts)).flat();
  await cluster.untilWhole();
  await monitor.stop();
  const { findings, counts } = await recording.stop();
  const effects = effectsOf(happened, monitor, cluster.promotions);
  say(effectTable(effects));
  say(
    `seed ${run.seed}: ${Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}`,
  );
  for (const { rule, detail } of findings) say(`VIOLATION, seed ${run.seed}: ${rule}: ${detail}`);
  return { effects, findings };
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A rule that is broken: a text of a file, which must be in it once, and what stands there instead. */
type Mutant = { breaks: string; file: string; from: string; to: string };

const CORE = 'src/webhooks/delivery';
const SIMULATION = 'test/simulation';

export const mutants: readonly Mutant[] = [
  {
    breaks: 'the fence is not compared',
    file: `${SIMULATION}/stores/memory-leases.ts`,
    from: 'return lane?.replica === replica && lane.fence === fence;',
    to: 'return lane !== undefined && fence > 0;',
  },
  {
    breaks: 'a lease is not renewed',
    file: `${SIMULATION}/stores/memory-leases.ts`,
    from: 'replicas.set(replica, { aliveUntil',
    to: 'if (!replicas.has(replica)) replicas.set(replica, { aliveUntil',
  },
  {
    breaks: 'a replica that renews too late continues as if it owned its lanes',
    file: `${CORE}/ownership.ts`,
    from: 'renewedAt + leaseMs - marginMs;',
    to: 'renewedAt + leaseMs + 15_000;',
  },
  {
    breaks: 'a replica that begins again under another name keeps its lanes',
    file: `${CORE}/leases.ts`,
    from: 'if (lost.length > 0) listener?.lost(lost);',
    to: '',
  },
  {
    breaks: 'the generation of a delivery is not compared',
    file: `${SIMULATION}/stores/memory-store.ts`,
    from: 'row.generation === outcome.generation && ',
    to: '',
  },
  {
    breaks: 'the generation of a webhook is not compared',
    file: `${SIMULATION}/stores/memory-store.ts`,
    from: 'webhook.generation !== laneState.generation || ',
    to: '',
  },
  {
    breaks: 'an outcome is recorded twice',
    file: `${SIMULATION}/stores/memory-store.ts`,
    from: "if (known?.at === outcome.attempt.at) return 'settled';\n  if (known === undefined) {",
    to: '{',
  },
  {
    breaks: 'the outcome of a removed share is recorded',
    file: `${SIMULATION}/stores/memory-store.ts`,
    from: 'if (!isVisible(rows, webhook.id, row.event)) {',
    to: 'if (webhook.id === undefined) {',
  },
  {
    breaks: "a removed share's deliveries are read",
    file: `${SIMULATION}/stores/memory-store.ts`,
    from: '.filter(({ event }) => isVisible(rows, webhook, event))',
    to: '',
  },
  {
    breaks: 'a lost lane still sends',
    file: `${CORE}/dispatch.ts`,
    from: 'if (lane) drop(lane);',
    to: 'void lane;',
  },
  {
    breaks: 'a suspended process does not check that it still owns its lanes',
    file: `${CORE}/deliver.ts`,
    from: 'const isOwn = owners.mayServe(id);',
    to: 'const isOwn = true;',
  },
  {
    breaks: 'a pause is forgotten',
    file: `${CORE}/lane.ts`,
    from: 'const { pausedUntil = 0 } = lane.state ?? {};',
    to: 'const { pausedUntil = 0 } = lane.settings ?? {};',
  },
  {
    breaks: 'an attempt in flight ends a pause',
    file: `${CORE}/requests.ts`,
    from: 'const current = isVoid ? request.settings : { ...request.settings, ...lane.state };',
    to: 'const current = request.settings;',
  },
  {
    breaks: 'a retry comes at the wrong time',
    file: `${CORE}/outcome.ts`,
    from: 'return nextAttempt(rules.schedule, made + 1, now, rules.random());',
    to: 'return nextAttempt(rules.schedule, made + 2, now, rules.random());',
  },
  {
    breaks: 'a retry is forgotten',
    file: `${CORE}/requests.ts`,
    from: 'expectMore(lane, outcome.next.due);',
    to: 'void lane;',
  },
  {
    breaks: 'a stale read is trusted',
    file: `${CORE}/lane-reads.ts`,
    from: ' || reading.recorded.has(key)',
    to: '',
  },
  {
    breaks: 'a read that began before a change is trusted',
    file: `${CORE}/dispatch.ts`,
    from: 'else if (!reading.isStale) takeIn',
    to: 'else takeIn',
  },
  {
    breaks: 'a token bucket is inherited full',
    file: `${CORE}/lane-reads.ts`,
    from: 'lane.isInherited ? 0 : ',
    to: '',
  },
  {
    breaks: 'a request takes no token',
    file: `${CORE}/lane.ts`,
    from: 'if (lane.bucket) lane.bucket.tokens--;',
    to: '',
  },
  {
    breaks: 'manual deliveries do not go first',
    file: `${CORE}/lane.ts`,
    from: 'const next = asked[0] ?? (manualAt <= now ? undefined : queue[0]);',
    to: 'const next = queue[0] ?? asked[0];',
  },
  {
    breaks: 'a redelivered delivery is also sent as it waited',
    file: `${CORE}/lane.ts`,
    from: '(manualAt <= now ? undefined : queue[0])',
    to: 'queue[0]',
  },
  {
    breaks: 'only the first manual delivery goes first',
    file: `${CORE}/lane-reads.ts`,
    from: 'isPart ? -Infinity : reading.manualAt',
    to: 'reading.manualAt',
  },
  {
    breaks: 'a lane to be handed over still sends',
    file: `${CORE}/dispatch.ts`,
    from: 'if (lane.isLeaving) {',
    to: 'if (lane.isLeaving && lane.underWay.size === 0) {',
  },
  {
    breaks: 'a lane is handed over before its last outcome',
    file: `${CORE}/dispatch.ts`,
    from: 'if (lane.underWay.size > 0) return;',
    to: '',
  },
  {
    breaks: 'lanes are given back late',
    file: `${CORE}/deliver.ts`,
    from: 'giveBack(dispatch.release(now + rules.lingerMs, now), false)',
    to: 'timers.later(() => giveBack(dispatch.release(now + rules.lingerMs, now), false), 700)',
  },
  {
    breaks: 'no slot is reserved for manual deliveries',
    file: `${CORE}/lane.ts`,
    from: 'if (next.isAsked && !reserved) return next;',
    to: '',
  },
  {
    breaks: 'manual deliveries are read only when the queue is empty',
    file: `${CORE}/dispatch.ts`,
    from: 'if (isAsked) expectManual(lane, due);',
    to: 'void isAsked;',
  },
  {
    breaks: 'silent receivers take all slots',
    file: `${CORE}/slots.ts`,
    from: 'const isSilentFree = () => taken.silent < inAll / 2;',
    to: 'const isSilentFree = () => true;',
  },
  {
    breaks: 'a receiver that fails is not probed',
    file: `${CORE}/trouble.ts`,
    from: 'return isSilent || failures >= failuresToProbe;',
    to: 'return isSilent && failures < 0 && failuresToProbe > 0;',
  },
  {
    breaks: 'probes have no pause between them',
    file: `${CORE}/trouble.ts`,
    from: 'trouble.opensAt = now + trouble.pauseMs;',
    to: '',
  },
  {
    breaks: 'a lane exceeds its concurrency',
    file: `${CORE}/lane.ts`,
    from: '(isProbed(trouble, rules) ? 1 : rules.concurrency)) return',
    to: '(isProbed(trouble, rules) ? 1 : 2 * rules.concurrency)) return',
  },
  {
    breaks: 'all lanes together exceed their concurrency',
    file: `${CORE}/slots.ts`,
    from: 'const [free, own] = [inAll - taken.all, freeOf(lane)];',
    to: 'const [free, own] = [inAll, 1];\n      taken.all = 0;',
  },
  {
    breaks: 'the webhooks of one user take all slots',
    file: `${CORE}/slots.ts`,
    from: 'Math.ceil((inAll - taken.all + own) * ownerShare)',
    to: 'inAll',
  },
  {
    breaks: 'tests and redeliveries of one user take all slots',
    file: `${CORE}/slots.ts`,
    from: 'ownOf(lane) <= inAll * ownerShare',
    to: 'ownOf(lane) <= inAll',
  },
  {
    breaks: 'a webhook whose receiver answered 410 is sent to until that is recorded',
    file: `${CORE}/lane-reads.ts`,
    from: 'const settings = isDisabled(lane, found.settings) ? undefined : found.settings;',
    to: 'const { settings } = found;',
  },
  {
    breaks: 'a change of a webhook is ignored',
    file: `${CORE}/dispatch.ts`,
    from: '    forget(lane);\n',
    to: '',
  },
  {
    breaks: 'what was noted before a change is sent after it',
    file: `${CORE}/requests.ts`,
    from: 'if (ownLane(request)?.changes === request.changes) return',
    to: 'if (request.changes >= 0) return',
  },
  {
    breaks: 'failures at the old URL count for the new one',
    file: `${CORE}/requests.ts`,
    from: 'const isVoid = lane.state?.generation !== request.settings.generation;',
    to: 'const isVoid = lane.state === undefined;',
  },
  {
    breaks: 'outcomes are dropped when the store fails',
    file: `${CORE}/ledger.ts`,
    from: 'waiting = [...underWay, ...waiting];',
    to: '',
  },
  {
    breaks: 'lanes that wait for a slot never get one',
    file: `${CORE}/slots.ts`,
    from: '          if (!isFree()) break;',
    to: '          if (taken.all > 0 || !isFree()) break;',
  },
  {
    breaks: 'a delivery that was noted is still suspicious after a clean end',
    file: `${CORE}/lane-reads.ts`,
    from: 'lane.isSuspect ? Math.min(known, delivery.suspicions) : 0',
    to: 'Math.min(known, delivery.suspicions)',
  },
  {
    breaks: 'deliveries that are being noted are sent beside a probe',
    file: `${CORE}/requests.ts`,
    from: 'if (isProbed(lane.trouble, rules)) lane.changes++;',
    to: '',
  },
  {
    breaks: 'a delivery that kills every process is never given up',
    file: `${CORE}/requests.ts`,
    from: 'if (delivery.suspicions >= rules.suspicions) {',
    to: 'if (delivery.suspicions > 1_000_000) {',
  },
  {
    breaks: 'an empty lane is kept',
    file: `${CORE}/dispatch.ts`,
    from: 'lane.moreAt >= until && isAsNew',
    to: "lane.webhook === '' && isAsNew",
  },
];

/** How long the seeds may take with a mutant that makes time pass without end. */
const LIMIT_MS = 300_000;

/** Runs the seeds with each mutant, and prints how many notice. False when one is not noticed. */
export async function tryMutants(seeds: number): Promise<boolean> {
  const root = join(import.meta.dirname, '..', '..');
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
  let missed = 0;
  try {
    for (const folder of ['src', 'testkit', SIMULATION])
      cpSync(join(root, folder), join(copy, folder), { recursive: true });
    cpSync(join(root, 'package.json'), join(copy, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const mutant of mutants) {
      const noticed = tryMutant(copy, mutant, seeds);
      if (noticed === undefined) missed++;
      process.stdout.write(`${mutant.breaks}: ${noticed ?? 'MISSED'}\n`);
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
  process.stdout.write(`${mutants.length} mutants, ${missed} missed\n`);
  return missed === 0;
}

/** What the first seed that notices it says; undefined when none does. */
function tryMutant(copy: string, { file, from, to, breaks }: Mutant, seeds: number): string | undefined {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`"${breaks}": its text is not once in ${file}.`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  const args = [join(copy, SIMULATION, 'main.ts'), '--first', '--seeds', String(seeds)];
  const { status, stdout, stderr, signal } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  writeFileSync(path, text);
  if (signal) return 'time passes without end';
  const noticed = stdout.split('\n').find((line) => line.startsWith('seed '));
  if (status !== 0 && noticed === undefined) throw new Error(`"${breaks}" does not run: ${stderr}`);
  return noticed;
}

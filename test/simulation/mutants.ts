import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A rule that is broken: a text of a file, which must be in it once, and what stands there instead. */
type Mutant = { breaks: string; file: string; from: string; to: string };

const CORE = 'src/webhooks/delivery';
const SIMULATION = 'test/simulation';

const mutants: readonly Mutant[] = [
  {
    breaks: 'the fence is not compared',
    file: `${SIMULATION}/memory-leases.ts`,
    from: 'return lane?.replica === replica && lane.fence === fence && isAlive(replica);',
    to: 'return lane !== undefined && fence > 0;',
  },
  {
    breaks: 'a lease is not renewed',
    file: `${SIMULATION}/memory-leases.ts`,
    from: 'replicas.set(replica, { aliveUntil: rows.now() + LEASE_MS });',
    to: 'if (!replicas.has(replica)) replicas.set(replica, { aliveUntil: rows.now() + LEASE_MS });',
  },
  {
    breaks: 'a replica that renews too late goes on as if it had its lanes',
    file: `${SIMULATION}/owners.ts`,
    from: 'const MARGIN_MS = 1_000;',
    to: 'const MARGIN_MS = -15_000;',
  },
  {
    breaks: 'the generation of a delivery is not compared',
    file: `${SIMULATION}/memory-store.ts`,
    from: 'row.generation !== outcome.generation || ',
    to: '',
  },
  {
    breaks: 'the generation of a webhook is not compared',
    file: `${SIMULATION}/memory-store.ts`,
    from: 'webhook.generation !== standing.generation || ',
    to: '',
  },
  {
    breaks: 'an outcome is recorded twice',
    file: `${SIMULATION}/memory-store.ts`,
    from: "if (known?.at === outcome.attempt.at) return 'settled';\n  if (known === undefined) {",
    to: '{',
  },
  {
    breaks: 'the outcome of a removed share is recorded',
    file: `${SIMULATION}/memory-store.ts`,
    from: 'if (!isVisible(rows, webhook.id, row.event)) {',
    to: 'if (webhook.id === undefined) {',
  },
  {
    breaks: 'what a removed share brought is read',
    file: `${SIMULATION}/memory-store.ts`,
    from: '.filter(({ event }) => isVisible(rows, webhook, event))',
    to: '',
  },
  {
    breaks: 'a lane that is lost is still sent to',
    file: `${CORE}/dispatch.ts`,
    from: 'if (lane) drop(lane);',
    to: 'void lane;',
  },
  {
    breaks: 'a process that stood still does not ask whether it has its lanes',
    file: `${CORE}/runner.ts`,
    from: 'owners.check?.();',
    to: '',
  },
  {
    breaks: 'a pause is forgotten',
    file: `${CORE}/lane.ts`,
    from: 'lane.settings = { ...found, ...lane.standing };',
    to: 'lane.settings = found;',
  },
  {
    breaks: 'an attempt that was under way ends a pause',
    file: `${CORE}/dispatch.ts`,
    from: 'const standing = isVoid ? sending.settings : { ...sending.settings, ...lane.standing };',
    to: 'const standing = sending.settings;',
  },
  {
    breaks: 'a retry comes at the wrong time',
    file: `${CORE}/outcome.ts`,
    from: 'return nextAttempt(rules.schedule, made + 1, now, random01);',
    to: 'return nextAttempt(rules.schedule, made + 2, now, random01);',
  },
  {
    breaks: 'a retry is not waited for',
    file: `${CORE}/dispatch.ts`,
    from: "if (result === 'settled' && outcome.next.state === 'pending') lookAt(lane, outcome.next.due);\n    else if",
    to: 'if',
  },
  {
    breaks: 'a stale read is believed',
    file: `${CORE}/lane.ts`,
    from: ' || reading.recorded.has(key)',
    to: '',
  },
  {
    breaks: 'a read that began before a change is believed',
    file: `${CORE}/dispatch.ts`,
    from: 'if (found && !reading.isStale) takeIn',
    to: 'if (found) takeIn',
  },
  {
    breaks: 'a token bucket is inherited full',
    file: `${CORE}/lane.ts`,
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
    breaks: 'what was asked for does not go first',
    file: `${CORE}/lane.ts`,
    from: 'const next = asked[0] ?? queue[0];',
    to: 'const next = queue[0] ?? asked[0];',
  },
  {
    breaks: 'no place is kept for what was asked for',
    file: `${CORE}/lane.ts`,
    from: 'if (next.isAsked && !reserved) return next;',
    to: '',
  },
  {
    breaks: 'what was asked for is read only when the queue runs dry',
    file: `${CORE}/dispatch.ts`,
    from: 'if (isAsked) lane.askAt = Math.min(lane.askAt, due);',
    to: 'void isAsked;',
  },
  {
    breaks: 'silent receivers take all places',
    file: `${CORE}/dispatch.ts`,
    from: 'const isSilentFree = () => places.silent < rules.inAll / 2;',
    to: 'const isSilentFree = () => true;',
  },
  {
    breaks: 'a receiver that fails is not probed',
    file: `${CORE}/lane.ts`,
    from: 'return trouble.isSilent || trouble.failures >= failuresToProbe;',
    to: 'return trouble.failures < 0 && failuresToProbe > 0;',
  },
  {
    breaks: 'probes have no pauses',
    file: `${CORE}/lane.ts`,
    from: 'trouble.opensAt = now + trouble.pauseMs;',
    to: '',
  },
  {
    breaks: 'a lane is wider than its limit',
    file: `${CORE}/lane.ts`,
    from: '(isProbed(lane, rules) ? 1 : rules.concurrency)) return',
    to: '(isProbed(lane, rules) ? 1 : 2 * rules.concurrency)) return',
  },
  {
    breaks: 'more requests are under way than in all',
    file: `${CORE}/dispatch.ts`,
    from: 'const free = rules.inAll - places.taken;',
    to: 'const free = rules.inAll;\n    places.taken = 0;',
  },
  {
    breaks: 'a webhook that is gone is sent to until that is recorded',
    file: `${CORE}/dispatch.ts`,
    from: 'if (lane.reading || lane.isEnding)',
    to: 'if (lane.reading)',
  },
  {
    breaks: 'a change of a webhook is not heeded',
    file: `${CORE}/dispatch.ts`,
    from: '      forget(lane);\n',
    to: '',
  },
  {
    breaks: 'what was noted is sent after a change',
    file: `${CORE}/dispatch.ts`,
    from: 'if (ownLane(sending)?.changes === sending.changes) effects',
    to: 'if (sending.changes >= 0) effects',
  },
  {
    breaks: 'the failure at a URL before counts for the new one',
    file: `${CORE}/dispatch.ts`,
    from: 'const isVoid = lane.standing?.generation !== sending.settings.generation;',
    to: 'const isVoid = lane.standing === undefined;',
  },
  {
    breaks: 'outcomes are dropped when the store fails',
    file: `${CORE}/ledger.ts`,
    from: 'waiting = [...underWay, ...waiting];',
    to: '',
  },
  {
    breaks: 'lanes that wait for a place are not let in',
    file: `${CORE}/dispatch.ts`,
    from: '        if (!isFree()) break;',
    to: '        if (places.taken > 0 || !isFree()) break;',
  },
  {
    breaks: 'a delivery that ends every process is never given up',
    file: `${CORE}/dispatch.ts`,
    from: 'if (delivery.suspicions >= rules.suspicions) {',
    to: 'if (delivery.suspicions > 1_000_000) {',
  },
  {
    breaks: 'a lane is kept that has nothing',
    file: `${CORE}/dispatch.ts`,
    from: 'lane.lookAt >= until && isAsNew',
    to: "lane.webhook === '' && isAsNew",
  },
];

/** How long the seeds may take with a mutant that makes time pass without end. */
const LIMIT_MS = 300_000;

/** Runs the seeds with each mutant, and prints which one notices. False when one is not noticed. */
export async function tryMutants(seeds: number): Promise<boolean> {
  const root = join(import.meta.dirname, '..', '..');
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
  let missed = 0;
  try {
    for (const folder of ['src', SIMULATION])
      cpSync(join(root, folder), join(copy, folder), { recursive: true });
    cpSync(join(root, 'package.json'), join(copy, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const mutant of mutants) {
      const noticed = tryMutant(copy, mutant, seeds);
      if (noticed === undefined) missed++;
      process.stdout.write(
        `${noticed ? 'caught' : 'MISSED'}: ${mutant.breaks}${noticed ? ` (${noticed})` : ''}\n`,
      );
    }
  } finally {
    rmSync(copy, { recursive: true });
  }
  process.stdout.write(`${mutants.length} mutants, ${missed} missed\n`);
  return missed === 0;
}

/** What noticed it. */
function tryMutant(copy: string, { file, from, to, breaks }: Mutant, seeds: number): string | undefined {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`"${breaks}": its text is not once in ${file}.`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  const args = [join(copy, SIMULATION, 'main.ts'), '--seeds', String(seeds), '--first'];
  const { status, stdout, signal } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  writeFileSync(path, text);
  if (status === 0) return undefined;
  return signal ? 'it does not end' : stdout.split('\n')[0] || 'an error';
}

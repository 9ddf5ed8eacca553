import { parseArgs } from 'node:util';
import { tryMutants } from './mutants.ts';
import { simulate } from './simulate.ts';
import { keepReal, openReal } from './stores/real-stores.ts';

/**
 * `npm run simulate`: tests the delivery core with faults. Exit code 1 when a seed fails; that seed replays exactly.
 */

const USAGE = `Usage: npm run simulate -- [--seeds 500] [--seed 1] [--first] [--trace] [--mutants] [--store sqlite|postgres] [--help]

  --seeds    how many runs
  --seed     the seed of the first; the others follow
  --first    ends with the first seed that fails
  --trace    prints what happens
  --store    does the same with a real store, which must give the same answers
  --mutants  breaks one rule after the other, and says which seed notices first
`;

process.exit(await main());

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string', default: '1' },
      first: { type: 'boolean', default: false },
      mutants: { type: 'boolean', default: false },
      store: { type: 'string' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const first = Number(values.seed);
  const seeds = Number(values.seeds ?? 500);
  const kind = values.store;
  const isKnown = kind === undefined || kind === 'sqlite' || kind === 'postgres';
  if (values.help || !isKnown || !Number.isInteger(first) || !(seeds > 0)) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  if (values.mutants) return (await tryMutants(seeds)) ? 0 : 1;
  const trace = values.trace ? (line: string) => void process.stdout.write(`${line}\n`) : undefined;
  const letGo = kind && (await keepReal(kind));
  // Keeps the process alive while it waits for a store that holds nothing open.
  const staying = setInterval(() => {}, 1_000);
  const started = performance.now();
  const sum = { events: 0, sends: 0, virtualMs: 0, lanes: 0, asked: 0, failed: 0 };
  for (let seed = first; seed < first + seeds; seed++) {
    const real = kind && (await openReal(kind));
    const { failures, events, sends, virtualMs, judged } = await simulate(seed, trace, real);
    await real?.close();
    sum.events += events;
    sum.sends += sends;
    sum.virtualMs += virtualMs;
    sum.lanes += judged.lanes;
    sum.asked += judged.asked;
    if (failures.length === 0) continue;
    sum.failed++;
    process.stdout.write(`seed ${seed}: ${failures.slice(0, 3).join('\n  ')}\n`);
    if (values.first) break;
  }
  if (letGo) await letGo();
  clearInterval(staying);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${seeds} seeds in ${seconds} s, ${(sum.virtualMs / 3_600_000).toFixed(1)} h of virtual time, ` +
      `${sum.events} events, ${sum.sends} requests, ${sum.lanes} looks at lanes, ${sum.asked} at what was asked for: ${sum.failed} failed\n`,
  );
  return sum.failed > 0 ? 1 : 0;
}

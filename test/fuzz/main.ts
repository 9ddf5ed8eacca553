import { parseArgs } from 'node:util';
import { type FuzzedStore, fuzzedStores } from './ground.ts';
import { fuzz, type Report } from './runner.ts';

/** `npm run fuzz`: sends generated requests to the service and checks the answers. Exit code 1 when one is wrong. */

const USAGE = `Usage: npm run fuzz -- [--cases 10000] [--seed N] [--only NAME] [--store sqlite] [--help]

  --cases  how many answers are checked, at least
  --seed   decides what is sent; printed, so that a run can be repeated
  --only   the one property to run: an operation, such as createPlant, pages, or sequences-1 to sequences-4
  --store  what the service keeps its data in: sqlite, postgres, or both, which are sent the same side by side;
           TEST_DATABASE_URL names a PostgreSQL server to use as its superuser, else one is started
`;

process.exit(await main());

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      only: { type: 'string' },
      store: { type: 'string', default: 'sqlite' },
      help: { type: 'boolean', default: false },
    },
  });
  const [cases, seed] = [Number(values.cases), Number(values.seed)];
  const stores =
    values.store === 'both' ? fuzzedStores : fuzzedStores.filter((name) => name === values.store);
  if (values.help || !(cases > 0) || !Number.isInteger(seed) || stores.length === 0) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  process.stderr.write(`seed ${seed}\n`);
  const plan = { cases, seed, only: values.only };
  const reports = await Promise.all(stores.map((store) => fuzzOn(store, plan)));
  if (reports.every(({ checked }) => checked === 0)) {
    process.stderr.write(`There is no property ${values.only}.\n`);
  }
  return reports.some(({ checked, failures }) => failures.length > 0 || checked === 0) ? 1 : 0;
}

async function fuzzOn(
  store: FuzzedStore,
  plan: { cases: number; seed: number; only: string | undefined },
): Promise<Report> {
  const started = performance.now();
  const report = await fuzz({
    ...plan,
    store,
    onProgress: (checked) => process.stderr.write(`${store}: ${checked} of ${plan.cases}\n`),
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  for (const failure of report.failures) process.stdout.write(`\n${store}: ${failure}\n`);
  process.stdout.write(
    `${store}: ${report.checked} cases in ${seconds} s, seed ${plan.seed}: ${report.failures.length} failures\n`,
  );
  return report;
}

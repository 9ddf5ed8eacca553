import { parseArgs } from 'node:util';
import { fuzz } from './runner.ts';

/** `npm run fuzz`: generated requests against the service and its document. Exit code 1 when anything is wrong. */

const USAGE = `Usage: npm run fuzz -- [--cases 10000] [--seed N] [--only NAME] [--help]

  --cases  how many answers are checked, at least
  --seed   decides what is sent; printed, so that a run can be repeated
  --only   the one property to run: an operation, such as createPlant, pages, or sequences-1 to sequences-4
`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const [cases, seed] = [Number(values.cases), Number(values.seed)];
  if (values.help || !(cases > 0) || !Number.isInteger(seed)) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  process.stderr.write(`seed ${seed}\n`);
  const started = performance.now();
  const report = await fuzz({
    cases,
    seed,
    only: values.only,
    onProgress: (checked) => process.stderr.write(`${checked} of ${cases}\n`),
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (report.checked === 0) process.stderr.write(`There is no property ${values.only}.\n`);
  for (const failure of report.failures) process.stdout.write(`\n${failure}\n`);
  process.stdout.write(
    `${report.checked} cases in ${seconds} s, seed ${seed}: ${report.failures.length} failures\n`,
  );
  return report.failures.length > 0 || report.checked === 0 ? 1 : 0;
}

import { parseArgs } from 'node:util';
import { type Figure, figureTable, isMet, summary, table } from './measure/report.ts';
import { pinSelf } from './servers/tools.ts';
import { type Minute, startSoak } from './soak/minutes.ts';
import { startSubject } from './soak/subject.ts';

/**
 * `node bench/soak.ts`: the service at half load, with everything that goes on in a month: creates, deletes, lists,
 * deliveries, retention, replays and backups. Nothing may grow, and nothing may become slower. Exit code 1 when a figure
 * misses its target or a request failed.
 */

const USAGE = `Usage: node bench/soak.ts [--store sqlite|postgres] [--minutes 60] [--help]\n`;
/** What is compared: the first so many minutes and the last. */
const COMPARED_MINUTES = 10;

process.exit(await main());

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      minutes: { type: 'string', default: '60' },
      help: { type: 'boolean', default: false },
    },
  });
  const [store, minutes] = [values.store, Number(values.minutes)];
  if (values.help || !(minutes >= 3) || (store !== 'sqlite' && store !== 'postgres')) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  pinSelf();
  const subject = await startSubject(store);
  const soak = await startSoak(subject);
  say(`${soak.perSecond} creates and deletes and ${2 * soak.perSecond} lists per second`);
  const taken: Minute[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    taken.push(await soak.minute(minute));
    say(lineOf(taken.at(-1)));
  }
  const violations = [...taken.flatMap(({ wrong }) => wrong), ...(await soak.end())];
  await subject.stop();
  return report(taken, violations);
}

function report(taken: readonly Minute[], violations: readonly string[]): number {
  const count = Math.min(COMPARED_MINUTES, Math.floor(taken.length / 3));
  const [first, last] = [taken.slice(0, count), taken.slice(-count)];
  const names = Object.keys(taken[0]?.figures ?? {});
  const median = (minutes: readonly Minute[], name: string) =>
    summary(minutes.map(({ figures }) => figures[name] ?? Number.NaN)).median;
  const figures = names.map((name): Figure => {
    const values = [median(last, name) / median(first, name)];
    return { name, unit: '×', values, target: { atMost: name.startsWith('p99') ? 1.2 : 1.1 } };
  });
  const rows = names.map((name) => [name, ...[first, last].map((some) => median(some, name).toFixed(1))]);
  process.stdout.write(
    `${table(['median of', `first ${count} minutes`, `last ${count} minutes`], rows)}\n\n${figureTable(figures)}\n\n` +
      `${violations.length} violations\n${violations.slice(0, 10).join('\n')}\n`,
  );
  return violations.length === 0 && figures.every((figure) => isMet(figure) !== false) ? 0 : 1;
}

function lineOf(minute: Minute | undefined): string {
  const figures = Object.entries(minute?.figures ?? {}).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  return [...figures, ...(minute?.wrong ?? [])].join('; ');
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

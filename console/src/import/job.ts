import { batch, type Signal, signal } from '@preact/signals';
import { codeOf, sentenceOf } from '../failure.ts';
import { randomKey } from '../keys.ts';
import { session, store } from '../session.ts';
import type { FileRow, PlantFile } from './csv.ts';

/** A row that will not be imported as it is, and why. */
export type FailedRow = Pick<FileRow, 'name' | 'reported'> & { line: number; problem: string };

export type Tally = {
  /** Rows that need no more: added or failed. */
  done: number;
  added: number;
  /** Rows a second, since it was started or continued. */
  rate: number;
};

/** An import goes on while other pages are looked at, until the tab is closed. */
export type Job = {
  user: string;
  file: PlantFile;
  /** `halted`: something has to be done before it can go on, see `halted`. */
  state: Signal<'ready' | 'running' | 'stopping' | 'stopped' | 'halted' | 'finished'>;
  halted: Signal<string | undefined>;
  tally: Signal<Tally>;
  failed: Signal<readonly FailedRow[]>;
  /** The rows that are still to be sent, from the next one on. */
  left: FileRow[];
  /** What the keys of its rows begin with: a row that is sent twice is one plant. */
  key: string;
};

/** The import of whoever is signed in. */
export const currentJob = signal<Job | undefined>(undefined);

/** As many requests as a browser keeps under way to one server (over HTTP/1.1). */
const LANES = 6;
const TALLY_EVERY_MS = 200;

/** Makes a job of a file; the rows that break a rule have failed before anything is sent. */
export function prepareJob(file: PlantFile): Job {
  const left: FileRow[] = [];
  const failed: FailedRow[] = [];
  for (const entry of file.rows) {
    const { row, name, reported } = entry;
    if ('problem' in row) failed.push({ line: row.line, name, reported, problem: row.problem });
    else left.push(entry);
  }
  return {
    user: session.peek()?.user ?? '',
    file,
    state: signal('ready'),
    halted: signal(undefined),
    tally: signal({ done: failed.length, added: 0, rate: 0 }),
    failed: signal(failed),
    left,
    key: keyFor(file),
  };
}

/** Sends what is left, many at a time, until it is done, stopped, or something stands in the way. */
export async function run(job: Job): Promise<void> {
  const found: FailedRow[] = [...job.failed.peek()];
  let { added } = job.tally.peek();
  const started = performance.now();
  let ended = 0;
  sessionStorage.setItem(keptAs(job.file), job.key);
  job.halted.value = undefined;
  job.state.value = 'running';

  const tell = () => {
    const rate = (ended * 1_000) / Math.max(performance.now() - started, 1);
    batch(() => {
      job.tally.value = { added, done: added + found.length, rate };
      if (found.length !== job.failed.peek().length) job.failed.value = [...found];
    });
  };
  const telling = setInterval(tell, TALLY_EVERY_MS);

  async function lane(): Promise<void> {
    while (job.state.peek() === 'running') {
      const entry = job.left.shift();
      if (!entry) return;
      const problem = await send(job, entry);
      if (problem === undefined) added += 1;
      else if (problem.isFinal) found.push(failedRow(entry, problem.sentence));
      else halt(job, entry, problem.sentence);
      ended += 1;
    }
  }

  await Promise.all(Array.from({ length: LANES }, lane));
  clearInterval(telling);
  found.sort((a, b) => a.line - b.line);
  tell();
  settle(job);
}

/** What is under way is waited for, so that it is known of every row whether it was added. */
export function stop(job: Job): void {
  if (job.state.peek() === 'running') job.state.value = 'stopping';
}

/** The next file may be chosen. */
export function forget(job: Job): void {
  if (currentJob.peek() === job) currentJob.value = undefined;
}

type Problem = { sentence: string; isFinal: boolean };

async function send(job: Job, { row }: FileRow): Promise<Problem | undefined> {
  if (!('draft' in row)) return { sentence: row.problem, isFinal: true };
  try {
    if (session.peek()?.user !== job.user) throw new Error('You signed out. Sign in again to go on.');
    await store().plants.create(row.draft, { idempotencyKey: `${job.key}-${row.line}` });
    return undefined;
  } catch (error) {
    return { sentence: sentenceOf(error), isFinal: isAboutTheRow(error) };
  }
}

/** A refusal of this plant, whatever else is sent. Everything else would meet the next rows, too. */
function isAboutTheRow(error: unknown): boolean {
  return [40001, 40002, 40900, 41300].includes(codeOf(error) ?? 0);
}

/** The row goes back to where it was: nothing is known to have come of it, and its key keeps it from being added twice. */
function halt(job: Job, entry: FileRow, sentence: string): void {
  job.left.unshift(entry);
  job.halted.value ??= sentence;
  job.state.value = 'halted';
}

function settle(job: Job): void {
  if (job.left.length === 0) {
    job.state.value = 'finished';
    sessionStorage.removeItem(keptAs(job.file));
  } else if (job.state.peek() !== 'halted') {
    job.state.value = 'stopped';
  }
}

function failedRow({ row: { line }, name, reported }: FileRow, problem: string): FailedRow {
  return { line, name, reported, problem };
}

/**
 * The key of an import that did not come to its end is kept in the tab: when the same file is chosen again after a reload,
 * the rows that were added are not added again. A file whose import has ended may be imported once more.
 */
function keyFor(file: PlantFile): string {
  return sessionStorage.getItem(keptAs(file)) ?? randomKey();
}

function keptAs({ fingerprint }: PlantFile): string {
  return `plant-store.import.${session.peek()?.user}.${fingerprint}`;
}

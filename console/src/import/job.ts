import { batch, type Signal, signal } from '@preact/signals';
import { randomKey } from '../../../packages/client/src/requests.ts';
import { codeOf, isKept, sentenceOf } from '../failure.ts';
import { kept } from '../kept.ts';
import { go, place } from '../router.ts';
import { session, store } from '../session.ts';
import { toast } from '../toasts.ts';
import type { FileRow, PlantFile } from './csv.ts';

/** A row that cannot be imported as it is, and why. */
export type FailedRow = Pick<FileRow, 'name' | 'reported'> & { line: number; problem: string };

export type Tally = {
  /** Finished rows: added or failed. */
  done: number;
  added: number;
  /** Rows a second, since it was started or resumed. */
  rate: number;
};

/** `refusals`: how many of its keys were refused for something that may change, such as a limit. */
type RowLeft = FileRow & { refusals?: number };

/** An import that continues while other pages are open, until the tab is closed. */
export type Job = {
  user: string;
  file: PlantFile;
  /**
   * `halted`: the user must act before it can continue, see `halted`. `forgotten`: it cannot, since nobody knows which
   * of its rows were added.
   */
  state: Signal<'ready' | 'running' | 'stopping' | 'stopped' | 'halted' | 'forgotten' | 'finished'>;
  halted: Signal<string | undefined>;
  tally: Signal<Tally>;
  failed: Signal<readonly FailedRow[]>;
  /** The unsent rows, the next one last: removing the first of many takes time for each of the others. */
  left: RowLeft[];
  /** The prefix of its rows' keys: a row that is sent twice creates one plant. */
  key: string;
  /** When the first row was sent with the key, in milliseconds since the Unix epoch; undefined before. */
  begun: number | undefined;
};

/** The import of the signed-in user. */
export const currentJob = signal<Job | undefined>(undefined);

/** Closing the tab ends the import, also one that waits for Continue. */
addEventListener('beforeunload', (event) => {
  const job = currentJob.peek();
  // While nobody is signed in, its user may sign in again and continue it.
  const isOwn = job?.user === (session.peek()?.user ?? job?.user);
  if (isOwn && /^(?:running|stopping|halted)$/.test(job?.state.peek() ?? '')) event.preventDefault();
});

/** As many concurrent requests as a browser allows to one server (over HTTP/1.1). */
const LANES = 6;
/** Where its page is. */
const PATH = '/plants/import';
const TALLY_EVERY_MS = 200;
/** How long the service recognises the keys of rows (`idempotency.keptMs`). */
const KEYS_LAST_MS = 24 * 60 * 60 * 1_000;

/** Creates a job from a file; rows that break a rule fail before anything is sent. */
export function prepareJob(file: PlantFile): Job {
  const user = session.peek()?.user ?? '';
  const left: RowLeft[] = [];
  const failed: FailedRow[] = [];
  for (const entry of file.rows) {
    const { row, name, reported } = entry;
    if ('problem' in row) failed.push({ line: row.line, name, reported, problem: row.problem });
    else left.push(entry);
  }
  left.reverse();
  return {
    user,
    file,
    state: signal('ready'),
    halted: signal(undefined),
    tally: signal({ done: failed.length, added: 0, rate: 0 }),
    failed: signal(failed),
    left,
    ...keyFor({ user, file }),
  };
}

/** Sends the remaining rows, many at a time, until it is done, stopped or blocked. */
export async function run(job: Job): Promise<void> {
  if (isForgotten(job)) {
    job.state.value = 'forgotten';
    return;
  }
  const found: FailedRow[] = [...job.failed.peek()];
  let { added } = job.tally.peek();
  const started = performance.now();
  let ended = 0;
  job.begun ??= Date.now();
  kept.setItem(keptAs(job), `${job.key} ${job.begun}`);
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
      const entry = job.left.pop();
      if (!entry) return;
      const problem = await send(job, entry);
      if (problem === undefined) added += 1;
      else if (problem.isFinal) found.push(failedRow(entry, problem.sentence));
      else halt(job, entry, problem);
      ended += 1;
    }
  }

  await Promise.all(Array.from({ length: LANES }, lane));
  clearInterval(telling);
  found.sort((a, b) => a.line - b.line);
  tell();
  settle(job);
}

/** Waits for requests in flight, so that the outcome of every row is known. */
export function stop(job: Job): void {
  if (job.state.peek() === 'running') job.state.value = 'stopping';
}

/** Allows choosing the next file. */
export function forget(job: Job): void {
  if (currentJob.peek() === job) currentJob.value = undefined;
}

type Problem = { sentence: string; isFinal: boolean; isRefusal: boolean };

async function send(job: Job, { row, refusals = 0 }: RowLeft): Promise<Problem | undefined> {
  if (!('draft' in row)) return { sentence: row.problem, isFinal: true, isRefusal: false };
  const key = `${job.key}-${row.line}${refusals > 0 ? `.${refusals}` : ''}`;
  try {
    if (session.peek()?.user !== job.user) throw new Error('You signed out. Sign in again to continue.');
    await store().plants.create(row.draft, { idempotencyKey: key });
    return undefined;
  } catch (error) {
    return { sentence: sentenceOf(error), isFinal: isAboutTheRow(error), isRefusal: isKept(error) };
  }
}

/** A refusal of this plant alone. Any other failure would meet the next rows, too. */
function isAboutTheRow(error: unknown): boolean {
  return [40001, 40002, 40900, 41300].includes(codeOf(error) ?? 0);
}

/**
 * Puts the row back. Its outcome is unknown, and its key prevents a second plant; or it was refused, and needs another
 * key. The import is halted once its other requests have ended, too: if it continued before, they would count into the
 * next run.
 */
function halt(job: Job, entry: RowLeft, { sentence, isRefusal }: Problem): void {
  job.left.push(isRefusal ? { ...entry, refusals: (entry.refusals ?? 0) + 1 } : entry);
  job.halted.value ??= sentence;
  job.state.value = 'stopping';
}

function settle(job: Job): void {
  if (job.left.length === 0) {
    job.state.value = 'finished';
    kept.removeItem(keptAs(job));
  } else {
    job.state.value = job.halted.peek() === undefined ? 'stopped' : 'halted';
  }
  if (place.peek().path !== PATH && session.peek()?.user === job.user) announce(job);
}

/** Says on another page how it ended; the user knows of a stop. */
function announce({ state, failed }: Job): void {
  if (state.peek() === 'stopped') return;
  const isHalted = state.peek() === 'halted';
  toast(isHalted ? 'The import halted.' : 'The import is done.', {
    kind: isHalted || failed.peek().length > 0 ? 'failed' : 'done',
    action: { label: 'Show', run: () => go(PATH) },
  });
}

function failedRow({ row: { line }, name, reported }: FileRow, problem: string): FailedRow {
  return { line, name, reported, problem };
}

/** Whether rows that an earlier run may have added would be added again. */
function isForgotten({ left, begun = Infinity }: Job): boolean {
  return (
    Date.now() - begun > KEYS_LAST_MS && left.some(({ row }) => 'draft' in row && row.draft.id === undefined)
  );
}

/**
 * The key of an unfinished import is kept in the tab: after a reload, choosing the same file adds no row twice. A
 * file whose import has finished may be imported again.
 */
function keyFor(of: Pick<Job, 'user' | 'file'>): Pick<Job, 'key' | 'begun'> {
  const [key = randomKey(), begun] = kept.getItem(keptAs(of))?.split(' ') ?? [];
  return { key, begun: begun === undefined ? undefined : Number(begun) };
}

function keptAs({ user, file: { fingerprint } }: Pick<Job, 'user' | 'file'>): string {
  return `plant-store.import.${user}.${fingerprint}`;
}

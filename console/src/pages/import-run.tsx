import { Button, ButtonLink } from '../components/button.tsx';
import { Landing } from '../components/landing.tsx';
import { Notice } from '../components/notice.tsx';
import { Progress } from '../components/progress.tsx';
import { count, counted, duration } from '../format.ts';
import { type Job, run, stop } from '../import/job.ts';
import { href } from '../router.ts';
import { FailedRows } from './failed-rows.tsx';
import { AnotherFile } from './import-choice.tsx';

/** A running import and its result. */
export function ImportRun({ job }: { job: Job }) {
  const { file, tally, state } = job;
  const { done } = tally.value;
  return (
    <div class="stack">
      <section class="card stack">
        <Landing step={state.value}>{file.name}</Landing>
        <Progress
          label={`${count(done)} of ${counted(file.rows.length, 'row')}`}
          value={done}
          max={file.rows.length}
        />
        <Pace job={job} />
        <div role="status">
          <Outcome job={job} />
        </div>
        <div class="actions">
          {(state.value === 'running' || state.value === 'stopping') && (
            <Button icon="stop" isBusy={state.value === 'stopping'} onClick={() => stop(job)}>
              Stop
            </Button>
          )}
          {(state.value === 'stopped' || state.value === 'halted') && (
            <Button look="primary" icon="play" onClick={() => void run(job)}>
              Continue
            </Button>
          )}
          {state.value === 'finished' && (
            <ButtonLink look="primary" icon="plants" href={href('/plants')}>
              See the plants
            </ButtonLink>
          )}
          {state.value !== 'running' && state.value !== 'stopping' && <AnotherFile job={job} />}
        </div>
      </section>
      <FailedRows job={job} />
    </div>
  );
}

function Pace({ job }: { job: Job }) {
  const { done, rate, added } = job.tally.value;
  const rest = rate > 0 ? ((job.file.rows.length - done) / rate) * 1_000 : 0;
  return (
    <p class="pace">
      <span>{count(added)} added</span>
      <span>{count(job.failed.value.length)} failed</span>
      <span>{count(Math.round(rate))} rows/s</span>
      {job.state.value === 'running' && rest > 1_000 && <span>about {duration(rest)} left</span>}
    </p>
  );
}

const FORGOTTEN =
  'The import started more than 24 hours ago, so the service no longer knows which rows without an id it added. Export your plants, remove those rows from the file, and import the rest.';

/** The result so far, whenever the import is not running. */
function Outcome({ job }: { job: Job }) {
  const { added } = job.tally.value;
  const failed = job.failed.value.length;
  const sums = `${counted(added, 'plant was', 'plants were')} added${failed > 0 ? `, and ${counted(failed, 'row')} failed` : ''}`;
  const left = `${counted(job.left.length, 'row was', 'rows were')} not sent. Choose Continue to resume there; no plant is added twice.`;
  switch (job.state.value) {
    case 'stopped':
      return (
        <Notice kind="info">
          Stopped. {sums}; {left}
        </Notice>
      );
    case 'stopping':
      return job.halted.value ? (
        <Notice kind="warn">{job.halted.value} The import halts when its last requests have ended.</Notice>
      ) : null;
    case 'halted':
      return (
        <Notice kind="warn">
          {job.halted.value} The import halted: {sums}; {left}
        </Notice>
      );
    case 'forgotten':
      return <Notice kind="warn">{FORGOTTEN}</Notice>;
    case 'finished':
      return <Notice kind={failed > 0 ? 'warn' : 'good'}>Done. {sums}.</Notice>;
    default:
      return null;
  }
}

import { Button } from '../components/button.tsx';
import { Table } from '../components/table.tsx';
import { count, counted } from '../format.ts';
import { csvOf, download } from '../import/failed-rows.ts';
import type { Job } from '../import/job.ts';

/** The rest is in the downloaded file. */
const SHOWN = 100;

/** The rows of an import that failed, and why. */
export function FailedRows({ job }: { job: Job }) {
  const failed = job.failed.value;
  if (failed.length === 0) return null;
  const { name } = job.file;
  const outcome = job.state.value === 'ready' ? 'cannot be imported' : 'failed';
  const save = () => download(`${name.replace(/\.csv$/i, '')}.errors.csv`, csvOf(job.file, failed));
  return (
    <section class="stack">
      <header class="section-head">
        <h2>
          {counted(failed.length, 'row')} {outcome}
        </h2>
        <Button icon="download" onClick={save}>
          Download as CSV
        </Button>
      </header>
      <p class="muted">
        Download these rows, correct them, and import that file by itself. Its columns line and error may
        stay.
      </p>
      <Table
        caption={`Rows that ${outcome}`}
        keyOf={({ line }) => String(line)}
        rows={failed.slice(0, SHOWN)}
        columns={[
          { title: 'Line', kind: 'number', cell: ({ line }) => count(line) },
          { title: 'Name', kind: 'name', cell: ({ name }) => <bdi>{name}</bdi> },
          { title: 'Problem', cell: ({ problem }) => problem },
        ]}
      />
      {failed.length > SHOWN && (
        <p class="muted">and {counted(failed.length - SHOWN, 'more', 'more')} in the file</p>
      )}
    </section>
  );
}

import { Button } from '../components/button.tsx';
import { Landing } from '../components/landing.tsx';
import { Notice } from '../components/notice.tsx';
import { Table } from '../components/table.tsx';
import { count, counted } from '../format.ts';
import type { FileRow } from '../import/csv.ts';
import { type Job, run } from '../import/job.ts';
import { FailedRows } from './failed-rows.tsx';
import { AnotherFile } from './import-choice.tsx';

const SHOWN = 8;

/** The content of the file, before anything is sent. */
export function ImportPreview({ job }: { job: Job }) {
  const { file, left, failed } = job;
  const problems = failed.value.length;
  return (
    <div class="stack">
      {problems > 0 && (
        <Notice kind="warn">
          {counted(problems, 'row')} cannot be imported as {problems === 1 ? 'it is' : 'they are'}.{' '}
          {left.length > 0 && 'The others can.'}
        </Notice>
      )}
      <section class="card stack">
        <Landing step="preview">
          {file.name}: {counted(file.rows.length, 'row')}
        </Landing>
        <div class="actions">
          {left.length > 0 && (
            <Button look="primary" icon="play" onClick={() => void run(job)}>
              {`Import ${counted(left.length, 'plant')}`}
            </Button>
          )}
          <AnotherFile job={job} />
        </div>
        {left.length > 0 && <Rows rows={left.slice(-SHOWN).toReversed()} />}
        {left.length > SHOWN && <p class="muted">and {counted(left.length - SHOWN, 'more row')}</p>}
      </section>
      <FailedRows job={job} />
    </div>
  );
}

function Rows({ rows }: { rows: readonly FileRow[] }) {
  const drafts = rows.flatMap(({ row }) => ('draft' in row ? [{ line: row.line, ...row.draft }] : []));
  return (
    <Table
      caption="The first rows of the file"
      keyOf={({ line }) => String(line)}
      rows={drafts}
      columns={[
        { title: 'Name', kind: 'name', cell: ({ name }) => <bdi>{name}</bdi> },
        { title: 'Tag', cell: ({ tag }) => tag && <bdi>{tag}</bdi> },
        {
          title: 'Id',
          kind: 'number',
          cell: ({ id }) => id?.toString() ?? <span class="muted">next free</span>,
        },
        { title: 'Line', kind: 'number', cell: ({ line }) => count(line) },
      ]}
    />
  );
}

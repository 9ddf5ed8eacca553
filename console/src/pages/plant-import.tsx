import { useSignal } from '@preact/signals';
import { Page } from '../components/page.tsx';
import { NoScope } from '../components/states.tsx';
import { sentenceOf } from '../failure.ts';
import { readPlantFile } from '../import/csv.ts';
import { currentJob, forget, type Job, prepareJob } from '../import/job.ts';
import { href } from '../router.ts';
import { may, session } from '../session.ts';
import { ImportChoice, useDrop } from './import-choice.tsx';
import { ImportPreview } from './import-preview.tsx';
import { ImportRun } from './import-run.tsx';

/** Imports a file of plants: choose, preview, run. */
export function PlantImport() {
  const job = currentJob.value;
  const own = job?.user === session.value?.user ? job : undefined;
  return (
    <Page
      title="Import plants"
      lead="From a CSV file, such as a spreadsheet export."
      back={{ href: href('/plants'), label: 'Plants' }}
    >
      {may('plants:write') ? <Steps job={own} /> : <NoScope scope="plants:write" what="import" />}
    </Page>
  );
}

function Steps({ job }: { job: Job | undefined }) {
  const error = useSignal<string | undefined>(undefined);
  const isReading = useSignal(false);
  const isRunOrRead = isReading.value || (job !== undefined && job.state.value !== 'ready');
  const isOver = useDrop((file) => {
    if (!isRunOrRead) void read(file);
  });

  async function read(file: File): Promise<void> {
    if (job) forget(job);
    const [before, signedIn] = [currentJob.peek(), session.peek()];
    isReading.value = true;
    error.value = undefined;
    try {
      const found = await readPlantFile(file);
      // Meanwhile another file may have been chosen, or somebody else signed in.
      if (currentJob.peek() === before && session.peek() === signedIn) currentJob.value = prepareJob(found);
    } catch (failure) {
      error.value = sentenceOf(failure);
    } finally {
      isReading.value = false;
    }
  }

  if (!job)
    return (
      <ImportChoice
        onChoose={(file) => void read(file)}
        error={error.value}
        isBusy={isReading.value}
        isOver={isOver.value}
      />
    );
  return job.state.value === 'ready' ? <ImportPreview job={job} /> : <ImportRun job={job} />;
}

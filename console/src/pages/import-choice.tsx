import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useId, useLayoutEffect } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { Notice } from '../components/notice.tsx';
import { forget, type Job } from '../import/job.ts';
import { focusHeading } from '../router.ts';

type ChoiceProps = {
  onChoose(file: File): void;
  error: string | undefined;
  isBusy: boolean;
  isOver: boolean;
};

const DRAGGED = ['dragover', 'dragleave', 'drop'] as const;

/**
 * Takes a file that is dropped anywhere, in every step: the browser would open it, and the session would end with the
 * page.
 * @returns whether something is dragged over the page
 */
export function useDrop(take: (file: File) => void): ReadonlySignal<boolean> {
  const isOver = useSignal(false);
  // Before anything is shown: else a file dropped just then would meet the listener of the step before.
  useLayoutEffect(() => {
    const drag = (event: DragEvent) => {
      event.preventDefault();
      isOver.value = event.type === 'dragover';
      const file = event.type === 'drop' ? event.dataTransfer?.files[0] : undefined;
      if (file) take(file);
    };
    for (const type of DRAGGED) addEventListener(type, drag);
    return () => {
      for (const type of DRAGGED) removeEventListener(type, drag);
    };
  });
  return isOver;
}

/** Accepts a file. */
export function ImportChoice({ onChoose, error, isBusy, isOver }: ChoiceProps) {
  const id = useId();
  return (
    <div class="stack">
      {error && <Notice kind="bad">{error}</Notice>}
      <div class={`drop ${isOver ? 'over' : ''}`} aria-busy={isBusy}>
        <Icon name="upload" />
        <p>
          <input
            id={id}
            class="hidden"
            type="file"
            accept=".csv,.tsv,text/csv"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file && !isBusy) onChoose(file);
              // Allows choosing the same file again once it is corrected.
              event.currentTarget.value = '';
            }}
          />
          <label class="button primary" for={id}>
            Choose a CSV file
          </label>
        </p>
        <p class="muted">{isBusy ? 'Reading the file…' : 'or drop one here'}</p>
      </div>
      <section class="card">
        <h2>What the file looks like</h2>
        <pre>
          <code>{'id,name,tag\n1,Alder,Alnus\n,Silver birch,Betula pendula'}</code>
        </pre>
        <ul class="rules">
          <li>
            The first line names the columns: <code>name</code>, and optionally <code>id</code> and{' '}
            <code>tag</code>, in any order.
          </li>
          <li>Commas, semicolons or tabs separate the values.</li>
          <li>A plant without an id gets the next free one.</li>
          <li>You see a preview before anything is sent.</li>
        </ul>
      </section>
    </div>
  );
}

/** Leads back to the choice. The heading of the page takes the focus, since the button disappears. */
export function AnotherFile({ job }: { job: Job }) {
  function leave(): void {
    focusHeading();
    forget(job);
  }
  return <Button onClick={leave}>Choose another file</Button>;
}

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { PlantField, PlantListOptions } from '../../../packages/client/src/client.ts';
import { csvLine } from '../../../src/import/csv.ts';
import { Button } from '../components/button.tsx';
import { sentenceOf } from '../failure.ts';
import { count, counted } from '../format.ts';
import { download } from '../import/failed-rows.ts';
import { refusalFor, session, store } from '../session.ts';
import { toast } from '../toasts.ts';

/** Few requests for a long list, and little memory for each. */
const PAGE = 1_000;
const FILE = 'plants.csv';

type PlantQuery = Pick<PlantListOptions<PlantField>, 'name' | 'order' | 'from'>;
type Out = Pick<FileSystemWritableFileStream, 'write' | 'close' | 'abort'>;
/** Not in every browser, and over https only (https://wicg.github.io/file-system-access/). */
type FilePicker = { showSaveFilePicker?(options: { suggestedName: string }): Promise<FileSystemFileHandle> };

/** Saves the user's own plants of a list as CSV that the import reads. Stops when the page is left. */
export function ExportButton({ query }: { query: PlantQuery }) {
  const running = useSignal<AbortController | undefined>(undefined);
  const written = useSignal(0);
  useEffect(() => () => running.peek()?.abort(), []);

  async function run(): Promise<void> {
    const controller = new AbortController();
    let out: Out | undefined;
    running.value = controller;
    written.value = 0;
    try {
      out = await openFile();
      await write(out, query, controller.signal, (plants) => {
        written.value += plants;
      });
      toast(`${counted(written.value, 'plant')} exported to a file.`);
    } catch (error) {
      await out?.abort();
      const wasStopped = error instanceof DOMException && error.name === 'AbortError';
      if (!wasStopped) toast(sentenceOf(error), { kind: 'failed' });
    } finally {
      running.value = undefined;
    }
  }

  const current = running.value;
  return current ? (
    // The second click of a double click on Export CSV is not meant for it.
    <Button icon="stop" onClick={({ detail }) => detail < 2 && current.abort()}>
      Stop at {count(written.value)}
    </Button>
  ) : (
    <Button icon="download" refusal={refusalFor('plants:read')} onClick={() => void run()}>
      Export CSV
    </Button>
  );
}

async function write(
  out: Out,
  query: PlantQuery,
  signal: AbortSignal,
  onWritten: (plants: number) => void,
): Promise<void> {
  let cursor: string | undefined;
  await out.write(csvLine(['id', 'name', 'tag']));
  do {
    const { items, next } = await store().plants.page({ ...query, limit: PAGE, cursor, signal });
    // Such a file would grow without an end.
    if (cursor !== undefined && next === cursor) {
      throw new Error('A page leads to itself: does a proxy ignore the query?');
    }
    const own = items.filter(({ owner }) => owner === session.value?.user);
    await out.write(own.map(({ id, name, tag = '' }) => csvLine([String(id), name, tag])).join(''));
    onWritten(own.length);
    // Those that others share follow all of the user's own.
    cursor = own.length === items.length ? next : undefined;
  } while (cursor !== undefined);
  await out.close();
}

/** Writes to a file on disk where the browser lets a page do that; else it collects the parts, and downloads them. */
async function openFile(): Promise<Out> {
  // The types of TypeScript lack it.
  const { showSaveFilePicker } = window as FilePicker;
  if (showSaveFilePicker) return (await showSaveFilePicker({ suggestedName: FILE })).createWritable();
  const parts: BlobPart[] = [];
  return {
    async write(part) {
      parts.push(new Blob([String(part)]));
    },
    async close() {
      download(FILE, ...parts);
    },
    async abort() {},
  };
}

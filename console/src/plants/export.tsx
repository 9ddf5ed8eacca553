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

/** Saves the user's own plants of a list as CSV that the import reads. Stops when the page is left. */
export function ExportButton({ query }: { query: PlantQuery }) {
  const running = useSignal<AbortController | undefined>(undefined);
  const collected = useSignal(0);
  useEffect(() => () => running.peek()?.abort(), []);

  async function run(): Promise<void> {
    const controller = new AbortController();
    running.value = controller;
    collected.value = 0;
    try {
      const parts = await collect(query, controller.signal, (plants) => {
        collected.value += plants;
      });
      // Not to a file that the page asks for: the browser empties it before anything is written.
      download(FILE, ...parts);
      toast(`${counted(collected.value, 'plant')} exported to a file.`);
    } catch (error) {
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
      Stop at {count(collected.value)}
    </Button>
  ) : (
    <Button icon="download" refusal={refusalFor('plants:read')} onClick={() => void run()}>
      Export CSV
    </Button>
  );
}

/** The parts of the file. The browser keeps them, on disk if they are large. */
async function collect(
  query: PlantQuery,
  signal: AbortSignal,
  onPage: (plants: number) => void,
): Promise<Blob[]> {
  const parts = [new Blob([csvLine(['id', 'name', 'tag'])])];
  let cursor: string | undefined;
  do {
    const { items, next } = await store().plants.page({ ...query, limit: PAGE, cursor, signal });
    // Such a file would grow without an end.
    if (cursor !== undefined && next === cursor) {
      throw new Error('A page leads to itself: does a proxy ignore the query?');
    }
    const own = items.filter(({ owner }) => owner === session.value?.user);
    parts.push(new Blob([own.map(({ id, name, tag = '' }) => csvLine([String(id), name, tag])).join('')]));
    onPage(own.length);
    // Those that others share follow all of the user's own.
    cursor = own.length === items.length ? next : undefined;
  } while (cursor !== undefined);
  return parts;
}

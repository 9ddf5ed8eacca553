import type { Page } from '../../../packages/client/src/pages.ts';
import { Failure } from '../failure.ts';
import type { ListedPlant, PlantWriter } from './formats.ts';

/** All plants that the user may read, or those of one owner: the user, or someone who shares with them. */
export type Whose = 'all' | { owner: string; isUser: boolean };

export type ExportParts = {
  pages: AsyncIterable<Page<ListedPlant>>;
  /** Aborting it ends the pages early. */
  signal: AbortSignal;
  whose: Whose;
  writer: PlantWriter;
  write(text: string): Promise<void>;
  /** @param count plants so far */
  onProgress(count: number): void;
};

export type Exported = {
  count: number;
  /** Whether the user may also read plants of others. */
  others: boolean;
  /** Plants with an empty tag. */
  emptyTags: number;
};

/**
 * Writes plants page by page. The list starts with the user's own plants and groups them by owner, so the export stops
 * where the wanted owner's plants end. Throws a `Failure` when another owner has none that the user may read.
 */
export async function exportPlants({
  pages,
  signal,
  whose,
  writer,
  write,
  onProgress,
}: ExportParts): Promise<Exported> {
  const isOwn = whose !== 'all' && whose.isUser;
  const isWanted = ({ owner }: ListedPlant) => whose === 'all' || owner === whose.owner;
  let [count, emptyTags, others] = [0, 0, false];
  for await (const { items: plants } of pages) {
    const wanted = plants.filter(isWanted);
    if (wanted.length > 0) {
      await write((count === 0 ? writer.begin : '') + writer.rows(wanted, count === 0));
      count += wanted.length;
      emptyTags += wanted.filter(({ tag }) => tag === '').length;
      onProgress(count);
    }
    const last = plants.at(-1);
    const isBehind = last !== undefined && !isWanted(last) && (isOwn || count > 0);
    others ||= isOwn && isBehind;
    if (isBehind) break;
  }
  if (count === 0 && whose !== 'all' && !isOwn && !signal.aborted) {
    throw new Failure(`You may not read any plants of "${whose.owner}".`);
  }
  if (count === 0) await write(writer.begin);
  await write(writer.end);
  return { count, others, emptyTags };
}

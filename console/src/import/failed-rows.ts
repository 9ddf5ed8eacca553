import { csvLine } from '../../../src/import/csv.ts';
import type { PlantFile } from './csv.ts';
import type { FailedRow } from './job.ts';

/** The failed rows as CSV: the original cells with line and error. You can correct and import the file as it is. */
export function csvOf({ columns, delimiter }: PlantFile, failed: readonly FailedRow[]): string {
  const header = [...columns.own.map(({ title }) => title), 'line', 'error'];
  const rows = failed.map(({ line, reported, problem }) => [...reported, String(line), problem]);
  return [header, ...rows].map((cells) => csvLine(cells, delimiter)).join('');
}

/** Makes the browser save a CSV file. */
export function download(name: string, ...parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

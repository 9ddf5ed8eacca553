import { type Bytes, rowsOf } from './import-file.ts';
import type { ImportFlags } from './import-flags.ts';
import type { ImportFormat } from './import-rows.ts';
import { imports } from './limits.ts';
import { insist, printJson, say } from './terminal.ts';

/**
 * Reads a file to its end and shows what is wrong in it. Gives whether nothing is. Throws a `Failure` when it cannot be
 * read on.
 *
 * @param name of the file, for a person
 */
export async function checkRows(
  bytes: Bytes,
  name: string,
  format: ImportFormat,
  { quiet, json }: ImportFlags,
): Promise<boolean> {
  let count = 0;
  let failed = 0;
  for await (const rows of rowsOf(bytes, name, format)) {
    for (const { row } of rows) {
      count++;
      if (!('problem' in row)) continue;
      failed++;
      if (failed <= imports.shownProblems) insist(`line ${row.line}: ${row.problem}`);
    }
  }
  if (failed > imports.shownProblems) insist(`… and ${failed - imports.shownProblems} more rows like these`);
  if (json) printJson({ rows: count, failed });
  if (!quiet) {
    say(
      `${count} rows read, ${failed === 0 ? 'nothing wrong with them' : `${failed} of them wrong`}. Nothing was sent.`,
    );
  }
  return failed === 0;
}

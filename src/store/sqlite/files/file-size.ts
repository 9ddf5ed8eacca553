import { statSync } from 'node:fs';

/** Of a file, in bytes; 0 for one that is not there. */
export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { referencePages } from './pages.ts';

/** `npm run docs`: writes the pages of `docs/reference/` anew. */
const root = join(import.meta.dirname, '..', '..');

for (const [file, text] of await referencePages()) {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.error(`wrote ${file}`);
}

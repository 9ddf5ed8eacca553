import { DatabaseSync } from 'node:sqlite';

/** Reads the store that the command line names, and prints what is wrong with it. A process can be ended at any time. */

const [path = ''] = process.argv.slice(2);
const db = new DatabaseSync(path, { readOnly: true });
const [found] = db.prepare('PRAGMA quick_check(1)').all();
process.stdout.write(String(found?.quick_check));

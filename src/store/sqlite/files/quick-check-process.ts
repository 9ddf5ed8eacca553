import { DatabaseSync } from 'node:sqlite';

/**
 * Checks the store given on the command line and prints its problems. A process, unlike a thread, can be ended any
 * time.
 */

const [path = ''] = process.argv.slice(2);
const db = new DatabaseSync(path, { readOnly: true });
const [found] = db.prepare('PRAGMA quick_check(1)').all();
process.stdout.write(String(found?.quick_check));

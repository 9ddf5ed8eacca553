import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ADMIN } from '../../src/access/bootstrap.ts';
import { storePath } from '../../src/config/config.ts';
import { openBeside } from '../stores/beside.ts';
import { type Outcome, run } from './program.ts';
import { failToServe, type ServeOptions, type Server, startServer } from './server.ts';

/** Where a test's servers run, one after another. Ends with the test, and ends all their processes. */
export type Place = {
  /** The test's own, outside the data folder. */
  folder: string;
  /** In `folder`; missing until a server creates it. */
  dataDir: string;
  /** Creates the data folder with an empty store and the user admin, as a start would that soon stopped. */
  prepare(): Promise<void>;
  serve(options?: ServeOptions): Promise<Server>;
  /** A start that should fail; see `failToServe`. */
  serveInVain(options?: ServeOptions): Promise<Outcome>;
  /** Another verb on the same store. */
  command(...args: string[]): Promise<Outcome>;
  /** Reads the store's file directly. */
  read(sql: string): Record<string, unknown>[];
  /** Writes to the store's file directly. */
  write(sql: string): void;
};

/** @param t a test, or what else runs this at its end */
export async function makePlace(t: { after(end: () => Promise<void>): void }): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-process-'));
  const servers: Server[] = [];
  t.after(async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await rm(folder, { recursive: true, force: true });
  });
  return placeIn(folder, servers);
}

/** How long the running service may hold the store's lock. */
const LOCKED_MS = 5_000;

function placeIn(folder: string, servers: Server[]): Place {
  const dataDir = join(folder, 'data');

  function withStore<T>(readOnly: boolean, work: (db: DatabaseSync) => T): T {
    const db = new DatabaseSync(storePath(dataDir), { readOnly, timeout: LOCKED_MS });
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  return {
    folder,
    dataDir,
    async prepare() {
      await mkdir(dataDir, { mode: 0o700 });
      const { store, runtime } = await openBeside(dataDir);
      await store.access.createUser({ name: ADMIN, at: runtime.clock.now() });
      await store.close();
    },
    serve: async (options) => {
      const server = await startServer(dataDir, options);
      servers.push(server);
      return server;
    },
    serveInVain: (options) => failToServe(dataDir, options),
    command: (...args) => run([...args, '--data-dir', dataDir]),
    read: (sql) =>
      withStore(true, (db) => {
        const statement = db.prepare(sql);
        statement.setReadBigInts(true);
        // Plain objects, for comparisons.
        return statement.all().map((row) => ({ ...row }));
      }),
    write: (sql) => withStore(false, (db) => db.exec(sql)),
  };
}

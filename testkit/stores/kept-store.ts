import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../src/config/config.ts';

/**
 * A store for services that run one after another: the settings that name it. It is in a database if the test run has
 * TEST_STORE=postgres, otherwise in a folder.
 */
export async function keptStore(): Promise<{ settings: Environment; drop(): Promise<void> }> {
  if (process.env.TEST_STORE === 'postgres') {
    const { url, drop } = await (await import('./postgres.ts')).makeDatabase();
    return { settings: { DATABASE_URL: url }, drop };
  }
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  return { settings: { DATA_DIR: folder }, drop: () => rm(folder, { recursive: true }) };
}

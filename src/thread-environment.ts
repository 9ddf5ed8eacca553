import { getCompileCacheDir } from 'node:module';

/** The compile cache is not handed on to threads: without it the thread would compile everything anew. */
export function threadEnvironment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir();
  return cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: cache };
}

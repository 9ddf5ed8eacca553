import type { Config } from '../config.ts';
import { sqliteCode } from '../store/sqlite/failure.ts';
import { databaseFailure } from './database-failure.ts';
import { Failure } from './failure.ts';

type Explain = (config: Config) => string;

/** By the code that Node gives to a failed system call. */
const systemFailures: Readonly<Record<string, Explain>> = {
  EADDRINUSE: ({ host, port }) =>
    `Port ${port} of ${host} is in use. Give another with --port; 0 picks a free one.`,
  EADDRNOTAVAIL: ({ host }) => `This machine has no address ${host} to listen on. Give another with --host.`,
  ENOTFOUND: ({ host }) => `The host ${host} cannot be found. Give another with --host.`,
};

/** By SQLite's primary result code. */
const storeFailures: Readonly<Record<number, string>> = {
  5: 'another program holds its lock',
  8: 'it cannot be written',
  10: 'the disk reports an error',
  11: 'its file is damaged',
  13: 'the disk is full',
  14: 'its file cannot be opened or made',
  26: 'its file is not a database',
};

/** A start that failed for a reason outside of the program, in one line that says what to do about it. */
export function startFailure(error: unknown, config: Config): unknown {
  if (!(error instanceof Error)) return error;
  const ofDatabase = config.databaseUrl && databaseFailure(error, config.databaseUrl);
  if (ofDatabase instanceof Failure) return ofDatabase;
  const reason = storeFailures[sqliteCode(error) ?? -1];
  if (reason !== undefined) {
    return new Failure(`The store in ${config.dataDir} cannot be used: ${reason}.`, { cause: error });
  }
  const { code, syscall } = systemError(error);
  const explain = systemFailures[code];
  if (explain) return new Failure(explain(config), { cause: error });
  if (syscall === 'listen')
    return new Failure(`Cannot listen on port ${config.port} of ${config.host}: ${code}.`, { cause: error });
  if (syscall === 'mkdir')
    return new Failure(`The data folder ${config.dataDir} cannot be made: ${code}.`, { cause: error });
  return error;
}

function systemError(error: NodeJS.ErrnoException) {
  return { code: error.code ?? '', syscall: error.syscall ?? '' };
}

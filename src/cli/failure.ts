import { CommanderError } from 'commander';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import { ConfigError } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { StoreFailure } from '../store/sqlite/engine/failure.ts';
import { UnflushedName } from '../store/sqlite/files/durable-files.ts';

/** An expected failure, in one sentence for the person. */
export class Failure extends Error {}

/** Wrong usage that the parser cannot detect; reported like a parser error. */
export class Misuse extends Error {}

/** 0 done, 1 failed, 2 wrong usage. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof ConfigError ? 2 : 1;
}

/** The lines for standard error: one for a failure, one for each wrong setting, the stack for a bug. */
export function messageOf(error: unknown): string[] {
  if (error instanceof ConfigError) return error.problems.map((problem) => `error: ${problem}`);
  if (!(error instanceof Error)) return [`error: ${error}`];
  return isExpected(error) ? [`error: ${error.message}`] : (error.stack ?? error.message).split('\n');
}

/** False for a bug, such as a `TypeError`. */
function isExpected(error: Error): boolean {
  const expected = [Failure, PlantStoreError, AppError, StoreFailure, UnflushedName];
  if (expected.some((kind) => error instanceof kind)) return true;
  if (error.constructor === Error) return true;
  return 'syscall' in error || 'errcode' in error;
}

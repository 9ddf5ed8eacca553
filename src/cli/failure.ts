import { CommanderError } from 'commander';
import { PlantStoreError } from '../../packages/client/src/plant-store-error.ts';
import { ConfigError } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { StoreFailure } from '../store/sqlite/engine/failure.ts';

/** What could not be done, in one sentence for the person who asked for it. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Failure';
  }
}

/** A command line that asks for what cannot be: told like one that the parser refuses. */
export class Misuse extends Error {}

/** 0 done, 1 failed, 2 wrong usage. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof ConfigError ? 2 : 1;
}

/** What standard error says about a failure: a line, or one for each wrong setting; of a bug, the stack. */
export function messageOf(error: unknown): string[] {
  if (error instanceof ConfigError) return error.problems.map((problem) => `error: ${problem}`);
  if (!(error instanceof Error)) return [`error: ${error}`];
  return isExpected(error) ? [`error: ${error.message}`] : (error.stack ?? error.message).split('\n');
}

/** Anything but a fault of the program itself, such as a `TypeError`. */
function isExpected(error: Error): boolean {
  const expected = [Failure, PlantStoreError, AppError, StoreFailure];
  if (expected.some((kind) => error instanceof kind)) return true;
  if (error.constructor === Error) return true;
  return 'syscall' in error || 'errcode' in error;
}

import { AppError } from '../../../errors.ts';
import type { PlainCause, PlainError } from '../../write-outcomes.ts';
import { extendedCode, StoreFailure } from './failure.ts';

export function toPlain({ code, message, headers, cause }: AppError): PlainError {
  return {
    code,
    message,
    headers: { ...headers },
    cause: cause instanceof Error ? plainCause(cause) : undefined,
  };
}

export function fromPlain({ code, message, headers, cause }: PlainError): AppError {
  return new AppError(code, message, { headers, cause: cause && causeOf(cause) });
}

function plainCause(cause: Error): PlainCause {
  const { message, stack } = cause;
  const isFinal = cause instanceof StoreFailure ? cause.isFinal : undefined;
  return { message, stack, isFinal, errcode: extendedCode(cause) };
}

function causeOf({ message, stack, isFinal, errcode }: PlainCause): Error {
  const cause = isFinal === undefined ? new Error(message) : new StoreFailure(message, { isFinal });
  // The stack of the other thread, where it was thrown.
  if (stack !== undefined) cause.stack = stack;
  return errcode === undefined ? cause : Object.assign(cause, { errcode });
}

import { Failure } from './failure.ts';

/** Where one of the tokens there are is to be named. */
export function unknownToken(id: string): Failure {
  return new Failure(`There is no token ${id}. To see those there are: plant-store token list`);
}

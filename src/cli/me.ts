import { membersOf } from './answer-reader.ts';
import { call } from './api.ts';
import type { Api } from './api-options.ts';

/** The name of the user whom the token acts for. Throws `ApiFailure`. */
export async function userOf(api: Api): Promise<string> {
  return membersOf((await call(api, 'GET', '/me')).body).text('user');
}

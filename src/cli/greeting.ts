import { styleText } from 'node:util';
import { ADMIN } from '../access/bootstrap.ts';
import { version } from '../package.ts';
import { shellWord, visible } from './terminal.ts';

export type GreetingParts = {
  url: string;
  /** Of the store. */
  place: string;
  /** Whether it answers requests; a replica that only sends webhooks has no more to say. */
  answersApi: boolean;
  /** Of the first run: shown this once. */
  token: string | undefined;
};

/** What a person needs who has just started the service: where it is, and a command that works when pasted. */
export function greeting(
  { url, place, answersApi, token }: GreetingParts,
  stream: NodeJS.WriteStream,
): string {
  const label = (text: string) => styleText('dim', text, { stream });
  const lines = [
    '',
    `  ${styleText('bold', `Plant Store ${version}`, { stream })}`,
    '',
    ...(answersApi
      ? [
          `  ${label('Console')}  ${url}/console`,
          `  ${label('API    ')}  ${url}`,
          `  ${label('Docs   ')}  ${url}/docs`,
        ]
      : [`  ${label('Role   ')}  sends webhooks`, `  ${label('Ready  ')}  ${url}/readyz`]),
    `  ${label('Data   ')}  ${visible(place)}`,
  ];
  if (token !== undefined) {
    lines.push(`  ${label('Token  ')}  ${styleText('green', token, { stream })}`);
    lines.push('', `  Keep the token: it signs you in as the user ${ADMIN}, and it is shown only now.`);
  }
  if (answersApi) lines.push('', `  ${label('To create a plant:')}`, '', `  ${curl(url, token)}`);
  lines.push('');
  return lines.join('\n');
}

/** One line for a POSIX shell. A token that is not known is taken from the variable TOKEN. */
function curl(url: string, token: string | undefined): string {
  const authorization =
    token === undefined ? '"Authorization: Bearer $TOKEN"' : shellWord(`Authorization: Bearer ${token}`);
  const body = shellWord(JSON.stringify({ name: 'Alder', tag: 'Alnus' }));
  return `curl -i ${shellWord(`${url}/plants`)} -H ${authorization} -H 'Content-Type: application/json' -d ${body}`;
}

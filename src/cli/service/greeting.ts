import { ADMIN } from '../../access/bootstrap.ts';
import { version } from '../../config/package.ts';
import { type Line, type Styled, shellWord } from '../terminal/terminal.ts';

export type GreetingParts = {
  url: string;
  place: string;
  /** False for a replica that only sends webhooks. */
  answersApi: boolean;
  /** Set only on the first start, and shown only then. */
  token: string | undefined;
};

export function greeting({ url, place, answersApi, token }: GreetingParts): Line[] {
  const row = (label: string, text: string | Styled): Line => [
    '  ',
    { style: 'dim', text: label },
    '  ',
    text,
  ];
  const lines: Line[] = [
    '',
    ['  ', { style: 'bold', text: `Plant Store ${version}` }],
    '',
    ...(answersApi
      ? [row('Console', `${url}/console`), row('API    ', url), row('Docs   ', `${url}/docs`)]
      : [row('Role   ', 'sends webhooks'), row('Ready  ', `${url}/readyz`)]),
    row('Data   ', place),
  ];
  if (token !== undefined) {
    lines.push(row('Token  ', { style: 'green', text: token }));
    lines.push('', `  Keep the token: it signs you in as the user ${ADMIN} and is shown only once.`);
  }
  if (answersApi)
    lines.push('', ['  ', { style: 'dim', text: 'To create a plant:' }], '', `  ${curl(url, token)}`);
  lines.push('');
  return lines;
}

/** One line for a POSIX shell. Without a known token it uses the variable TOKEN. */
function curl(url: string, token: string | undefined): string {
  const authorization =
    token === undefined ? '"Authorization: Bearer $TOKEN"' : shellWord(`Authorization: Bearer ${token}`);
  const body = shellWord(JSON.stringify({ name: 'Alder', tag: 'Alnus' }));
  return `curl -i ${shellWord(`${url}/plants`)} -H ${authorization} -H 'Content-Type: application/json' -d ${body}`;
}

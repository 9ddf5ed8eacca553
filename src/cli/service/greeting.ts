import { ADMIN } from '../../access/bootstrap.ts';
import type { Config } from '../../config/config.ts';
import { version } from '../../config/package.ts';
import { type Line, type Styled, shellWord } from '../terminal/terminal.ts';

/** @param token set only on the first start, and shown only then */
export function greeting(url: string, config: Config, token: string | undefined): Line[] {
  const { databaseUrl, dataDir, roles } = config;
  const answersApi = roles.has('api');
  const row = (label: string, text: string | Styled): Line => [
    '  ',
    { style: 'dim', text: label },
    '  ',
    text,
  ];
  const toPaste = (purpose: string, command: string): Line[] => [
    '',
    ['  ', { style: 'dim', text: `To ${purpose}:` }],
    '',
    `  ${command}`,
  ];
  const lines: Line[] = [
    '',
    ['  ', { style: 'bold', text: `Plant Store ${version}` }],
    '',
    ...(answersApi
      ? [row('Console', `${url}/console`), row('API    ', url), row('Docs   ', `${url}/docs`)]
      : [row('Role   ', 'sends webhooks'), row('Ready  ', `${url}/readyz`)]),
    row('Data   ', databaseUrl?.shown ?? dataDir),
  ];
  if (token !== undefined) {
    lines.push(row('Token  ', { style: 'green', text: token }));
    lines.push('', `  Keep the token: it signs you in as the user ${ADMIN} and is shown only once.`);
  } else if (answersApi) {
    const folder = databaseUrl ? '' : ` --data-dir ${shellWord(dataDir)}`;
    lines.push(...toPaste('create another token', `plant-store token create --user ${ADMIN}${folder}`));
  }
  if (answersApi) lines.push(...toPaste('list your plants', curl(url, token)));
  lines.push('');
  return lines;
}

/** One line for a POSIX shell. Without a known token it uses the variable TOKEN. */
function curl(url: string, token: string | undefined): string {
  const authorization =
    token === undefined ? '"Authorization: Bearer $TOKEN"' : shellWord(`Authorization: Bearer ${token}`);
  return `curl ${shellWord(`${url}/plants`)} -H ${authorization}`;
}

import { after, before, test } from 'node:test';
import { type Asked, LONG, placeholder, startTwins, type Twins } from './twins.ts';

/** A user's own tokens: both stores answer the same, byte for byte. */

let twins: Twins;
before(async () => {
  twins = await startTwins();
});
after(() => twins.stop());

const withToken = (token: string, line: string, body?: string): Asked => ({
  line,
  fields: [`Authorization: Bearer ${token}`],
  ...(body === undefined ? {} : { body }),
});

test('tokens: created, used, rotated, listed, revoked, and those that are not there', async () => {
  const ann = await twins.user('ann of tokens');
  const bob = await twins.user('bob of tokens');
  await twins.askUntil(ann, { line: 'GET /tokens' }, /lastUsedOn/);
  const made: string[] = [];
  const tokens: string[] = [];
  for (const body of TOKENS) {
    const answer = await twins.ask(ann, { line: 'POST /tokens', body });
    if (!answer.startsWith('201')) continue;
    made.push(placeholder('tok', answer));
    tokens.push(placeholder('token', answer));
  }
  await twins.ask(ann, { line: 'POST /tokens' });
  const [reader = '', brief = ''] = tokens;
  for (const token of [reader, brief]) await twins.ask(undefined, withToken(token, 'GET /plants'));
  await twins.askUntil(ann, { line: 'GET /tokens' }, /(?:lastUsedOn.*){3}/);
  for (const line of ['GET /plants', 'GET /me', 'GET /tokens', 'POST /plants', 'POST /tokens']) {
    await twins.ask(undefined, withToken(reader, line));
  }
  for (const body of [
    '{}',
    '{"expiresIn":59}',
    '{"expiresIn":61}',
    '{"scopes":["plants:read","webhooks:read"]}',
  ]) {
    await twins.ask(undefined, withToken(brief, 'POST /tokens', body));
  }
  for (const who of [bob, ann]) {
    for (const id of [...made, 'tok_x', '%00', '%F0%9F%8C%B1', `tok_${'0'.repeat(26)}`, 'x'.repeat(20_000)]) {
      for (const body of ROTATIONS) await twins.ask(who, { line: `POST /tokens/${id}/rotate`, body });
      await twins.ask(who, { line: `GET /tokens/${id}` });
    }
    await twins.ask(who, { line: `DELETE /tokens/${made[0]}` });
    await twins.ask(who, { line: `DELETE /tokens/${made[0]}` });
  }
  await twins.askUntil(undefined, withToken(reader, 'GET /plants'), /^401/);
  await twins.ask(ann, { line: 'DELETE /tokens/%00' });
  await twins.ask(ann, { line: 'GET /tokens?limit=1' });
  await twins.ask(ann, { line: 'GET /tokens' });
});

const TOKENS = [
  '{"label":"reader","scopes":["plants:read","tokens:read"]}',
  '{"label":"brief","scopes":["plants:read","tokens:write"],"expiresIn":60}',
  '{"scopes":["tokens:write","plants:read"]}',
  JSON.stringify({ label: '\u{1F331}'.repeat(255), expiresIn: 315_360_000 }),
  JSON.stringify({ label: `${LONG}x` }),
  '{"label":"two\\nlines"}',
  '{"label":"\\u0000"}',
  '{"label":"\\ud800"}',
  '{"label":null}',
  '{"scopes":[]}',
  '{"scopes":["plants:read","plants:read"]}',
  '{"scopes":["plants:all"]}',
  '{"scopes":"plants:read"}',
  '{"scopes":[["plants:read"]]}',
  '{"expiresIn":0}',
  '{"expiresIn":315360001}',
  '{"expiresIn":1e400}',
  '{"expiresIn":"60"}',
  '{"user":"bob of tokens"}',
  '[]',
];

const ROTATIONS = ['{}', '{"overlap":60}', '{"overlap":0}', '{"overlap":-1}', '{"expiresIn":5}', '[]'];

test('with an Idempotency-Key, a token is created and rotated once, and shown once', async () => {
  const ann = await twins.user('ann of token keys');
  const fields = ['Idempotency-Key: a'];
  const create: Asked = { line: 'POST /tokens', fields, body: '{"label":"once"}' };
  const id = placeholder('tok', await twins.ask(ann, create));
  await twins.ask(ann, create);
  await twins.ask(ann, { ...create, body: '{}' });
  const rotate: Asked = { line: `POST /tokens/${id}/rotate`, fields, body: '{}' };
  await twins.ask(ann, rotate);
  await twins.ask(ann, rotate);
  await twins.ask(ann, { ...rotate, fields: ['Idempotency-Key: b'] });
  await twins.ask(ann, { ...rotate, fields: ['Idempotency-Key: b'] });
});

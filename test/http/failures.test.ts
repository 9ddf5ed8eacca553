import assert from 'node:assert/strict';
import test from 'node:test';
import fastify from 'fastify';
import { AppError } from '../../src/errors.ts';
import { answerFailure } from '../../src/http/request/failures.ts';

test('a user who is deleted while a conflict is stored gets the challenge with the refusal', async () => {
  const app = fastify();
  app.decorateRequest('keyed', undefined);
  app.setErrorHandler(answerFailure);
  app.post('/plants', (request) => {
    const failed = () => Promise.resolve(new AppError(40101, 'The user was deleted.'));
    Object.assign(request, { keyed: { failed } });
    throw new AppError(40900, 'The id is taken.');
  });
  const answer = await app.inject({ method: 'POST', url: '/plants' });
  assert.equal(answer.statusCode, 401);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer .*error="invalid_token"$/);
});

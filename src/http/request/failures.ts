import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, errorBody } from '../../errors.ts';
import type { Measures } from '../../observability/port.ts';
import { closeAfterAnswers } from '../admission/connection.ts';
import { asksHealth } from '../admission/door.ts';
import { linesOf } from '../observe/request-log.ts';
import { withChallenge } from './authorization.ts';
import { answerJson, notJson } from './body.ts';

/** Fastify's own refusals, by their code (https://fastify.dev/docs/latest/Reference/Errors/). */
const FRAMEWORK: Record<string, () => AppError> = {
  FST_ERR_BAD_URL: () =>
    new AppError(40000, 'The URL has an escape that is not valid percent-encoded UTF-8.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: notJson,
};

/** Answers a failure with the Error object. Unexpected errors are logged and hidden. */
export function answerFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  measured?: Measures['failed'],
): void {
  const failure = toAppError(error, request);
  const { complete, socket } = request.raw;
  const isLast = failure.code === 50303 || (failure.code === 41300 && !complete);
  if (isLast) closeAfterAnswers(socket);
  // Fastify closes the connection when a body cannot be parsed, even if all of it was read. Replace the header
  // instead of removing it: without it, Node never closes the connection of a client that half-closed.
  if (complete && reply.raw.shouldKeepAlive && reply.hasHeader('connection')) {
    reply.header('connection', 'keep-alive');
  }
  const send = (answered: AppError) => {
    const { code, message, status, headers } = withChallenge(answered);
    if (!asksHealth(request.raw)) measured?.(code);
    request.span?.note({ 'plant_store.error': code });
    // For the client to quote: the log lines about this request contain it.
    const answer = reply.code(status).headers(headers).header('x-request-id', request.id);
    answerJson(answer).send(errorBody(code, message));
  };
  if (!request.keyed) send(failure);
  else
    void request.keyed
      .failed(failure)
      .then((unkept) => send(unkept === undefined ? failure : toAppError(unkept, request)));
}

function toAppError(error: unknown, request: FastifyRequest): AppError {
  if (error instanceof AppError && error.code !== 50000) return error;
  const known = error instanceof Error && 'code' in error ? FRAMEWORK[String(error.code)] : undefined;
  if (known) return known();
  if (request.raw.destroyed && !request.raw.complete) return new AppError(40000, 'The request ended early.');
  request.log.error({ err: error, ...linesOf(request) }, 'a request failed');
  return new AppError(50000, `Something went wrong on our side. Quote the request id ${request.id}.`);
}

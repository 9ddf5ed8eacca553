import type { FastifyReply } from 'fastify';

/**
 * Makes the reply one whose payload is JSON text. Fastify would add a charset, which application/json does
 * not have (RFC 8259 §11).
 */
export function answerJson<Reply extends Pick<FastifyReply, 'header' | 'serializer'>>(reply: Reply): Reply {
  reply.header('content-type', 'application/json').serializer(asItIs);
  return reply;
}

function asItIs(payload: unknown): string {
  return String(payload);
}

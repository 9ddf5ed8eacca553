import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { http as limits } from '../limits.ts';

type Pipeline = {
  underWay: number;
  waiting: Held[];
};

type Held = { response: ServerResponse; resume(): void };

/**
 * Lets few requests of one connection go on at a time, when a client sends the next ones without waiting for answers.
 * Answers leave in the order of their requests, so Node keeps each in memory until the ones before it were taken: whoever
 * asked for many lists, and read none, would fill the memory over a single connection.
 */
export function boundPipelines(app: FastifyInstance): void {
  const pipelines = new WeakMap<Socket, Pipeline>();

  app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, resume) => {
    // Node gives the connection to the answer whose turn it is; nearly always that is this one.
    if (response.socket !== null) return resume();
    const pipeline = pipelines.get(socket) ?? { underWay: 0, waiting: [] };
    pipelines.set(socket, pipeline);
    pipeline.waiting.push({ response, resume });
    goOn(pipeline, socket);
  });
}

function goOn(pipeline: Pipeline, socket: Socket): void {
  while (pipeline.underWay < limits.pipelinedRequests) {
    const next = pipeline.waiting.shift();
    if (next === undefined) break;
    pipeline.underWay++;
    next.response.once('close', () => {
      pipeline.underWay--;
      goOn(pipeline, socket);
    });
    next.resume();
  }
  // What is behind those that wait is not even read.
  if (pipeline.waiting.length > 0) socket.pause();
  else if (socket.isPaused()) socket.resume();
}

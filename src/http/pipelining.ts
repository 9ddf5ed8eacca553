import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
export function boundPipelines(): (response: ServerResponse, socket: Socket, resume: () => void) => void {
  const pipelines = new WeakMap<Socket, Pipeline>();

  return (response, socket, resume) => {
    const pipeline = pipelines.get(socket) ?? { underWay: 0, waiting: [] };
    pipelines.set(socket, pipeline);
    pipeline.waiting.push({ response, resume });
    goOn(pipeline, socket);
  };
}

/** Node gives the connection to the answer whose turn it is; nearly always that is the one just asked for. */
export function isPipelined(response: ServerResponse): boolean {
  return response.socket === null;
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

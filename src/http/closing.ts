import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node keeps the answer that a connection is sending here, until the system has taken all of it. */
type Answering = Socket & { _httpMessage?: ServerResponse | null };

/**
 * Lets answers that are under way when the service drains arrive whole, and tells their clients that the connection
 * ends with them. Node takes a connection for idle as soon as its answer was handed over, and closes it, although
 * most of a long answer is still to be sent.
 */
export function finishAnswersFirst(server: Server, drain: AbortSignal): void {
  const connections = new Set<Answering>();
  server.on('connection', (socket: Answering) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });

  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const unsent = [...connections].flatMap(({ _httpMessage: answer, writableLength }) =>
      answer?.finished && writableLength > 0 ? [answer] : [],
    );
    // What Node looks at; nothing else runs meanwhile.
    for (const answer of unsent) answer.finished = false;
    closeIdle();
    for (const answer of unsent) answer.finished = true;
  };

  drain.addEventListener('abort', () => {
    for (const { _httpMessage: answer } of connections) {
      if (answer && !answer.headersSent) answer.shouldKeepAlive = false;
    }
  });
}

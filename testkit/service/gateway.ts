import { once } from 'node:events';
import { request as send } from 'node:http';
import { type Received, type Receiver, type Reply, startReceiver } from '../receivers/receiver.ts';

/** A real server that stands before the service, and passes on what no script says otherwise about. */
export type Gateway = Receiver & {
  /** What it does without a script. */
  pass: Handler;
  /** Has the service do what is asked, and cuts the answer off: at once, or behind so many bytes of its body. */
  cut: (behindBytes?: number) => Handler;
};

export type Handler = Extract<Reply, (...args: never) => unknown>;

export async function startGateway(service: { port: number }): Promise<Gateway> {
  const receiver = await startReceiver();
  const pass: Handler = async (request, response) => {
    const answer = await ask(service, request);
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
    response.on('close', () => answer.destroy());
  };
  receiver.usually(pass);
  const cut =
    (behindBytes?: number): Handler =>
    async (request, response) => {
      const answer = await ask(service, request);
      const body = Buffer.concat(await answer.toArray());
      if (behindBytes !== undefined) {
        response.writeHead(answer.statusCode ?? 0, { ...answer.headers, 'content-length': body.length });
        await new Promise((resolve) => response.write(body.subarray(0, behindBytes), resolve));
      }
      response.destroy();
    };
  return { ...receiver, url: `http://127.0.0.1:${receiver.port}`, pass, cut };
}

/** The service's answer, of which the head has come. */
async function ask({ port }: { port: number }, { method, path, headers, body }: Received) {
  const { connection: _, 'transfer-encoding': __, ...fields } = headers;
  const outgoing = send({ port, method, path, headers: fields, agent: false }).end(body);
  const [answer] = await once(outgoing, 'response');
  // The only argument of that event.
  return answer as import('node:http').IncomingMessage;
}

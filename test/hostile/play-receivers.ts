import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { succeeded } from '../../testkit/service/answer.ts';
import type { AttemptAnswer, DeliveryAnswer, WebhookAnswer } from '../../testkit/service/owner.ts';
import type { Service } from '../../testkit/service/service.ts';
import { type Receiver, receivers } from './receivers.ts';
import { RECEIVERS } from './webhook.ts';

/** A user may have a hundred webhooks. */
const TOGETHER = 90;
/** The deadline of an attempt is 15 s. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 100;
const DRIP_MS = 100;

/** Sends a test event to each receiver; returns a line for each problem. */
export async function playReceivers(service: Service): Promise<string[]> {
  const host = await startReceivers();
  try {
    const groups = Math.ceil(receivers.length / TOGETHER);
    const found = await Promise.all(
      Array.from({ length: groups }, (_, group) =>
        playGroup(
          service,
          host,
          `hostile receivers ${group}`,
          receivers.slice(group * TOGETHER, (group + 1) * TOGETHER),
        ),
      ),
    );
    const followed = host.followed() ? ['a redirect was followed'] : [];
    return [...found.flat(), ...followed];
  } finally {
    await host.stop();
  }
}

type Host = Awaited<ReturnType<typeof startReceivers>>;

async function playGroup(
  service: Service,
  host: Host,
  user: string,
  group: readonly Receiver[],
): Promise<string[]> {
  const token = await service.tokenFor(user);
  const ask = async (method: string, path: string, status: number, body?: object) =>
    succeeded(await service.request(method, path, { token, body }), status);
  const played = new Map<string, Receiver>();
  for (const receiver of group) {
    const made = (await ask('POST', '/webhooks', 201, { url: host.urlOf(receiver) })) as WebhookAnswer;
    played.set(made.id, receiver);
    await ask('POST', `/webhooks/${made.id}/test`, 202, {});
  }
  await settled(async () => (await ask('GET', '/webhooks', 200)) as WebhookAnswer[]);

  const problems: string[] = [];
  for (const [id, receiver] of played) {
    const webhook = (await ask('GET', `/webhooks/${id}`, 200)) as WebhookAnswer;
    const [delivery] = (await ask('GET', `/webhooks/${id}/deliveries`, 200)) as [DeliveryAnswer];
    const whole = await ask('GET', `/webhooks/${id}/deliveries/${delivery.event}`, 200);
    const { history } = whole as { history: AttemptAnswer[] };
    const problem = wrongWith(receiver, webhook, delivery, history);
    if (problem !== undefined)
      problems.push(`${receiver.name}: ${problem}; ${JSON.stringify(history).slice(0, 300)}`);
  }
  return problems;
}

/** Waits until every webhook has had its attempt. */
async function settled(list: () => Promise<WebhookAnswer[]>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    const webhooks = await list();
    if (webhooks.every(({ waiting, status }) => waiting === 0 || status === 'disabled')) return;
    await delay(PAUSE_MS);
  }
}

function wrongWith(
  { is, status, pauses }: Receiver,
  webhook: WebhookAnswer,
  { state, attempts }: DeliveryAnswer,
  history: AttemptAnswer[],
): string | undefined {
  if (!is.some((one) => one === state)) return `${state} instead of ${is.join(' or ')}`;
  if (attempts !== 1) return `${attempts} attempts`;
  const isDisabled = webhook.status === 'disabled';
  if (isDisabled !== (state === 'held')) return `the webhook is ${webhook.status}`;
  const recorded = history[0]?.status ?? null;
  if (status !== undefined && recorded !== status) return `the status ${recorded} instead of ${status}`;
  if ((history[0]?.excerpt?.length ?? 0) > 4096) return 'more than 4 KiB of the answer are kept';
  const until = webhook.pausedUntil === undefined ? 0 : (Date.parse(webhook.pausedUntil) - Date.now()) / 1000;
  if (Math.abs(until - (pauses ?? 0)) > 60) return `a pause of ${until} s instead of ${pauses ?? 0} s`;
  return undefined;
}

/** One server for all: the request's path selects the receiver. */
async function startReceivers() {
  const sockets = new Set<Socket>();
  let wasFollowed = false;
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
      if (!text.includes('\r\n\r\n') || !text.endsWith('}')) return;
      const number = /^POST \/receivers\/(\d+) /.exec(text)?.[1];
      text = '';
      const receiver = receivers[Number(number ?? -1)];
      if (receiver) void behave(socket, receiver, port);
      else wasFollowed = true;
    });
  });
  server.listen(0, RECEIVERS.address);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receivers have no port.');
  const { port } = address;
  return {
    urlOf: (receiver: Receiver) =>
      `http://${RECEIVERS.address}:${port}/receivers/${receivers.indexOf(receiver)}`,
    followed: () => wasFollowed,
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function behave(socket: Socket, { sends, afterwards }: Receiver, port: number): Promise<void> {
  const bytes = sends.map((part) =>
    typeof part === 'string' ? Buffer.from(part.replace('{port}', String(port)), 'latin1') : part,
  );
  for (const part of bytes) await sent(socket, part);
  const last = bytes.at(-1) ?? Buffer.alloc(0);
  if (afterwards === 'ends') socket.end();
  else if (afterwards === 'resets') socket.resetAndDestroy();
  else if (afterwards !== 'keeps') {
    while (socket.writable) {
      await sent(socket, last);
      if (afterwards === 'drips') await delay(DRIP_MS);
    }
  }
}

/** Resolves when the other side has taken the bytes, or is gone. */
function sent(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (!socket.writable) return resolve();
    socket.once('close', resolve);
    socket.write(bytes, () => {
      socket.off('close', resolve);
      setImmediate(resolve);
    });
  });
}

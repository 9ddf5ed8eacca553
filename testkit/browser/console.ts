import { after } from 'node:test';
import type { Environment } from '../../src/config/config.ts';
import { type Receiver, startReceiver } from '../receivers/receiver.ts';
import { succeeded } from '../service/answer.ts';
import { type Service, startService } from '../service/service.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

export type ConsoleParts = {
  browser: TestBrowser;
  service: Service;
  /** Where webhooks may send to. */
  receiver: Receiver;
  /** Creates something over the API; resolves with the answer, which has an id unless it is a plant. */
  create(path: string, token: string, body: unknown): Promise<{ id: string }>;
};

/** What a test file of the console needs; stopped after its tests. */
export async function startConsole(env: Environment = {}): Promise<ConsoleParts> {
  const receiver = await startReceiver();
  const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...env });
  const browser = await startBrowser();
  after(async () => {
    await browser.stop();
    await service.stop();
    await receiver.stop();
  });
  return {
    browser,
    service,
    receiver,
    async create(path, token, body) {
      // The shape in the OpenAPI document; those who create plants do not use it.
      return succeeded(await service.request('POST', path, { token, body }), 201) as { id: string };
    },
  };
}

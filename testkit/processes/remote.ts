import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Environment } from '../../src/config/config.ts';
import { type Receiver, startReceiver } from '../receivers/receiver.ts';
import { succeeded } from '../service/answer.ts';
import { type Service, startService } from '../service/service.ts';
import { type Outcome, run } from './program.ts';

/** A running service to use from the command line as admin. Ends with the test. */
export type Remote = {
  service: Service;
  receiver: Receiver;
  /** Settings: where the service and its store are, and the token. */
  env: Record<string, string>;
  /** Runs a verb to its end. */
  verb(...args: string[]): Promise<Outcome>;
  /** Creates a webhook for the receiver and returns its id. */
  webhook(): Promise<string>;
  /** Creates a plant and returns the body of the answer. */
  plant(body: string): Promise<unknown>;
};

export async function startRemote(t: TestContext, settings: Environment = {}): Promise<Remote> {
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const service = await startService({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...settings });
  t.after(() => service.stop());
  const env = {
    PLANT_STORE_URL: service.url,
    PLANT_STORE_TOKEN: service.token,
    DATA_DIR: service.dataDir,
  };
  return {
    service,
    receiver,
    env,
    verb: (...args) => run(args, env),
    webhook: async () => {
      const made = succeeded(
        await service.request('POST', '/webhooks', { body: { url: receiver.url } }),
        201,
      );
      assert.ok(typeof made === 'object' && made !== null && 'id' in made);
      return String(made.id);
    },
    plant: async (body) => succeeded(await service.request('POST', '/plants', { body }), 201),
  };
}

/** The data of a verb that succeeded without messages. */
export function dataOf({ code, stdout, stderr }: Outcome): string {
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return stdout;
}

/** The messages of a verb that succeeded without data. */
export function wordsOf({ code, stdout, stderr }: Outcome): string {
  assert.deepEqual({ code, stdout }, { code: 0, stdout: '' }, stderr);
  return stderr;
}

/** The error line of a verb, without its end. */
export function failureOf({ code, stdout, stderr }: Outcome): string {
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' }, stderr);
  assert.match(stderr, /^error: [^\n]+\n$/);
  return stderr.trim();
}

import type { Sender, SenderParts } from './sender.ts';

/**
 * A sender that is loaded with the first delivery. Its HTTP client takes 11 MiB of memory and a tenth of the
 * start, which a service without webhooks need not pay.
 */
export function createSenderOnDemand(parts: SenderParts): Sender {
  let loaded: Promise<Sender> | undefined;

  async function load(): Promise<Sender> {
    const { createSender } = await import('./sender.ts');
    return createSender(parts);
  }

  return {
    async send(prepared, signal) {
      loaded ??= load();
      const sender = await loaded.catch(() => undefined);
      if (sender) return sender.send(prepared, signal);
      // A machine that has no file to open left may have one at the next attempt.
      loaded = undefined;
      return { error: 'The service could not load its HTTP client.', durationMs: 0 };
    },
    async close() {
      await (await loaded?.catch(() => undefined))?.close();
    },
  };
}

import type { Socket } from 'node:net';
import type { Receiver } from '../../store/rows.ts';
import type { AllowedNetworks } from '../../webhooks/sending/addresses.ts';
import { reasonOf } from '../../webhooks/sending/attempt.ts';
import { connect } from '../../webhooks/sending/connect.ts';
import { createResolve } from '../../webhooks/sending/resolver.ts';
import { createTarget, type Target, TargetRefused } from '../../webhooks/sending/target.ts';
import { checks as limits } from '../limits.ts';
import { counted } from '../terminal/terminal.ts';
import { type Finding, ok, warning } from './check.ts';

const NAME = 'Webhooks';

/**
 * Checks that receivers can be connected to, by the rules for deliveries. Sends no request, and connects only once to a
 * receiver that several webhooks share. The service may have other settings than this command: a receiver that only
 * these refuse can be reached if the service's last attempt succeeded.
 */
export async function checkReceivers(
  receivers: readonly Receiver[],
  allowed: AllowedNetworks,
): Promise<Finding[]> {
  if (receivers.length === 0) return [ok(NAME, 'none are enabled')];
  const target = createTarget({ allowed, resolve: createResolve() });
  const byOrigin = [...Map.groupBy(receivers, ({ url }) => originOf(url))];
  const findings: Finding[] = [];
  const left = byOrigin.values();

  async function worker(): Promise<void> {
    for (const [, group] of left) {
      const [first, ...others] = group;
      if (first === undefined) continue;
      const error = await errorOf(target, first.url);
      const isReached = error instanceof TargetRefused && group.some(({ isHealthy }) => isHealthy);
      if (error === undefined || isReached) continue;
      findings.push(unreachable(first, others.length, error));
    }
  }

  await Promise.all(Array.from({ length: limits.together }, worker));
  const well = byOrigin.length - findings.length;
  const summary = `${well} of ${counted(byOrigin.length, 'receiver')} can be reached`;
  return well === 0 ? findings : [ok(NAME, summary), ...findings];
}

function unreachable({ webhook, url }: Receiver, others: number, error: unknown): Finding {
  const more = others === 0 ? '' : ` and of ${counted(others, 'more webhook')}`;
  return warning(
    NAME,
    `the receiver of ${webhook}${more} cannot be reached: ${originOf(url)}: ${reasonOf(error).replace(/\.$/, '')}`,
    error instanceof TargetRefused
      ? 'Run doctor with the settings of serve: it judges by its own WEBHOOK_ALLOWED_NETWORKS.'
      : "Tell the webhook's owner. Its deliveries wait and are retried.",
  );
}

/** Without path and query, which may contain a secret. */
function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

/** Why connecting fails; undefined when it works. */
async function errorOf(target: Target, text: string): Promise<unknown> {
  let socket: Socket | undefined;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const late = Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' });
  using _timer = setTimeout(resolve, limits.answerMs, late);
  try {
    const url = target.read(text);
    socket = connect({ target, url }, (...[error]) => resolve(error ?? undefined));
    return await promise;
  } catch (error) {
    return error;
  } finally {
    socket?.on('error', () => {}).destroy();
  }
}

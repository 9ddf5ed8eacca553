import { failureOf } from '../../../src/webhooks/sending/attempt.ts';
import type { Ground, Replica } from '../replica.ts';
import { type DeliveryRow, isVisible, type WebhookRow } from '../stores/memory-rows.ts';
import type { Send } from './send.ts';

/** Checks what must be true once nothing interferes any more. */
export function checkEnd({ rows, witness, scenario }: Ground, replicas: readonly Replica[]): void {
  const sendsOf = new Map<string, Send[]>();
  for (const send of witness.sends()) {
    const key = `${send.webhook} ${send.event} ${send.made}`;
    sendsOf.set(key, [...(sendsOf.get(key) ?? []), send]);
  }
  for (const webhook of rows.webhooks.values()) {
    if (webhook.status === 'deleted') continue;
    for (const row of rows.deliveries.get(webhook.id)?.values() ?? []) {
      const sends = sendsOf.get(`${webhook.id} ${row.event.id} ${row.made}`) ?? [];
      if (isVisible(rows, webhook.id, row.event)) checkRow(row, webhook, sends);
    }
  }
  for (const replica of replicas) checkReplica(replica);

  function checkRow(row: DeliveryRow, { id, status }: WebhookRow, sends: readonly Send[]): void {
    const text = `${row.event.id} of ${id}`;
    if (row.state === 'pending' && status === 'enabled') {
      witness.fail(`${text} still waits since ${row.due - scenario.start}, after ${row.attempts} attempts`);
    }
    const recorded = sends.filter(({ state }) => state === 'recorded');
    const poisoned = [...row.kept.values()].filter(({ error }) => error?.startsWith('The service ended'));
    if (row.attempts !== row.kept.size) witness.fail(`${text} counts ${row.attempts} of ${row.kept.size}`);
    if (row.attempts !== recorded.length + poisoned.length) {
      witness.fail(`${text} has ${row.attempts} attempts of which ${recorded.length} were made`);
    }
    const isAnswered = recorded.some(({ attempt }) => attempt && failureOf(attempt) === undefined);
    if (row.state === 'delivered' && !isAnswered) witness.fail(`${text} is delivered, but nobody took it`);
    const made = recorded.filter(({ attempt }) => attempt && failureOf(attempt) !== undefined);
    const failed = made.length + poisoned.length;
    if (witness.uncleanCount(id) < poisoned.length * scenario.rules.suspicions) {
      witness.fail(`${text} counts ends of processes as attempts, but too few ended uncleanly`);
    }
    if (row.state === 'failed' && failed < scenario.rules.schedule.length) {
      witness.fail(`${text} failed after ${failed} attempts`);
    }
  }

  function checkReplica(replica: Replica): void {
    if (!replica.isAlive()) return;
    const { underWay = 0 } = replica.runner()?.counts() ?? {};
    if (underWay > 0) witness.fail(`${replica.name} believes that ${underWay} requests are under way`);
    if (replica.held() > 0) witness.fail(`${replica.name} holds ${replica.held()} lanes that have nothing`);
  }
}

import type { Webhook, WebhookCreated } from '../../../packages/client/src/schemas.ts';
import { delivery as limits } from '../../limits.ts';
import { type DeliveryState, deliveryStates } from '../../webhooks/port.ts';
import { failureOf } from '../../webhooks/sending/attempt.ts';
import { serviceFor } from '../api.ts';
import type { ApiFlags } from '../api-options.ts';
import { Failure, Misuse } from '../failure.ts';
import { ask, refuseWithoutTerminal } from '../terminal/question.ts';
import { type Field, renderFields, renderTable } from '../terminal/table.ts';
import { insist, print, printJson, say, shellWord } from '../terminal/terminal.ts';
import { overlapOption, parseTime, roughDuration, sinceRule } from '../terminal/time.ts';
import { argument, option, parseUpTo, remote, required, type Verbs, WEBHOOK, webhookId } from '../verb.ts';
import { firstAttempt, renderDelivery, whyLater } from './delivery.ts';

type JsonFlags = ApiFlags & { json?: true };

const RATE = `an integer from 1 to ${limits.rate}`;
const NEW_RATE = `${RATE}, or none for no limit`;
const parseNewRate = parseUpTo(limits.rate, NEW_RATE);

export const verbs: Verbs = remote({
  create: {
    description: 'create a webhook and print its secret, which cannot be shown again',
    arguments: [argument('<url>', 'where to send every new plant: an https URL with a public address')],
    options: [
      option('--description <text>', 'what it is for'),
      option('--rate <number>', `maximum attempts per second: ${RATE}`, parseUpTo(limits.rate)),
      option('--json', 'print the answer, including the secret, as a JSON object'),
    ],
    examples: [
      'webhook create https://example.com/plants',
      "webhook create https://example.com/plants --description 'The greenhouse' --rate 20",
      'webhook create https://example.com/plants --json | jq -r .secret > secret',
    ],
    async run(flags: JsonFlags & { description?: string; rate?: number }, url: string) {
      const { description, rate } = flags;
      const made = await serviceFor(flags).webhooks.create({ url, description, rate });
      if (flags.json) return printJson(made);
      print(renderFields([...identityFields(made), ['Secret', made.secret]]));
      say(
        `The secret is shown only once. To test the receiver: plant-store webhook test ${shellWord(made.id)} --wait`,
      );
    },
  },
  list: {
    description: 'list your webhooks with their health, oldest first',
    options: [option('--json', 'print the answer as a JSON array')],
    examples: ['webhook list', `webhook list --json | jq -r '.[] | select(.failed > 0) | .id'`],
    async run(flags: JsonFlags) {
      const webhooks = await serviceFor(flags).webhooks.list();
      if (flags.json) return printJson(webhooks);
      if (webhooks.length === 0) {
        return say('No webhooks found. To create one: plant-store webhook create URL');
      }
      const headings = ['ID', 'STATUS', 'WAITING', 'OLDEST', 'FAILED', 'URL', 'DESCRIPTION'];
      print(renderTable(headings, webhooks.map(webhookRow)));
    },
  },
  show: {
    description: 'show a webhook and its health',
    arguments: [webhookId()],
    options: [option('--json', 'print the answer as a JSON object')],
    examples: [`webhook show ${WEBHOOK}`, `webhook show ${WEBHOOK} --json | jq .waiting`],
    async run(flags: JsonFlags, id: string) {
      const webhook = await serviceFor(flags).webhooks.get(id);
      if (flags.json) return printJson(webhook);
      print(renderFields([...identityFields(webhook), ...healthFields(webhook)]));
    },
  },
  test: {
    description: 'send a plant.test event like any other and print its id',
    arguments: [webhookId()],
    options: [
      option('--wait', 'wait for the first attempt and show it; the exit code is 1 if it failed'),
      option('--json', 'print the delivery as a JSON object'),
    ],
    examples: [`webhook test ${WEBHOOK} --wait`, `webhook test ${WEBHOOK} --wait --json | jq .history`],
    async run(flags: JsonFlags & { wait?: true }, id: string) {
      const { webhooks } = serviceFor(flags);
      const sent = await webhooks.test(id);
      if (!flags.wait) {
        if (flags.json) printJson(sent);
        else print([sent.event]);
        const next = `To see the outcome: plant-store delivery show ${id} ${shellWord(sent.event)}`;
        return say(whyLater(sent, Date.parse(sent.createdAt)) ?? next);
      }
      const tried = await firstAttempt(webhooks, sent);
      if (flags.json) printJson(tried);
      else print(renderDelivery(tried));
      const reason = failureOf(tried.history[0] ?? {});
      if (reason !== undefined) throw new Failure(`The test failed: ${reason}`);
    },
  },
  update: {
    description: "change a webhook's URL, description or rate; its secret stays",
    arguments: [webhookId()],
    options: [
      option('--to <url>', 'where to send every new plant from now on: an https URL with a public address'),
      option('--description <text>', "what it is for; '' removes the description"),
      // Not null: Commander would turn that into an empty string.
      option('--rate <number>', `maximum attempts per second: ${NEW_RATE}`, (text) =>
        text === 'none' ? text : parseNewRate(text),
      ),
      option('--json', 'print the answer as a JSON object'),
    ],
    examples: [
      `webhook update ${WEBHOOK} --to https://example.com/new`,
      `webhook update ${WEBHOOK} --description 'The greenhouse' --rate none`,
    ],
    async run(flags: JsonFlags & { to?: string; description?: string; rate?: number | 'none' }, id: string) {
      const { to: url } = flags;
      const rate = flags.rate === 'none' ? null : flags.rate;
      const description = flags.description === '' ? null : flags.description;
      if (url === undefined && description === undefined && rate === undefined) {
        throw new Misuse('nothing to change; pass --to, --description or --rate');
      }
      const webhook = await serviceFor(flags).webhooks.update(id, { url, description, rate });
      if (flags.json) return printJson(webhook);
      print(renderFields(identityFields(webhook)));
      if (url !== undefined) say(`To test the receiver: plant-store webhook test ${id} --wait`);
    },
  },
  rotate: {
    description: 'give a webhook a new secret and print it; it cannot be shown again',
    arguments: [webhookId()],
    options: [
      overlapOption('the old secret keeps signing, too', limits.overlapSeconds.most * 1000),
      option('--json', 'print a JSON object {secret, overlapUntil}'),
    ],
    examples: [`webhook rotate ${WEBHOOK} > secret`, `webhook rotate ${WEBHOOK} --overlap 7d`],
    async run(flags: JsonFlags & { overlap?: number }, id: string) {
      const overlap = flags.overlap === undefined ? undefined : flags.overlap / 1000;
      const rotated = await serviceFor(flags).webhooks.rotateSecret(id, { overlap });
      if (flags.json) return printJson(rotated);
      print([rotated.secret]);
      const old = overlap === 0 ? 'no longer signs' : `also signs until ${rotated.overlapUntil}`;
      say(`The webhook ${id} has a new secret, shown only once. The old one ${old}.`);
    },
  },
  enable: {
    description: 'enable a webhook and send its held deliveries',
    arguments: [webhookId()],
    examples: [`webhook enable ${WEBHOOK}`],
    async run(flags: ApiFlags, id: string) {
      const { waiting } = await serviceFor(flags).webhooks.update(id, { enabled: true });
      say(
        `Enabled the webhook ${id}. ${waiting === 0 ? 'No deliveries are waiting.' : `Waiting deliveries: ${waiting}.`}`,
      );
    },
  },
  disable: {
    description: 'disable a webhook and hold its deliveries until it is enabled again',
    arguments: [webhookId()],
    examples: [`webhook disable ${WEBHOOK}`],
    async run(flags: ApiFlags, id: string) {
      await serviceFor(flags).webhooks.update(id, { enabled: false });
      say(
        `Disabled the webhook ${id}. Its deliveries are held, including new ones. To send them: plant-store webhook enable ${id}`,
      );
    },
  },
  replay: {
    description: 'resend every event since a time, including events from before the webhook was created',
    arguments: [webhookId()],
    options: [
      required('--since <time>', sinceRule, parseTime),
      option('--state <state>', 'only deliveries in this state (default: all)').choices(deliveryStates),
      option('--json', 'print a JSON object {count}'),
    ],
    examples: [
      `webhook replay ${WEBHOOK} --since 2h`,
      `webhook replay ${WEBHOOK} --since 2026-11-21T09:00:00Z --state failed`,
    ],
    async run(flags: JsonFlags & { since: string; state?: DeliveryState }, id: string) {
      const { since, state } = flags;
      const replayed = await serviceFor(flags).webhooks.replay(id, { since, state });
      if (flags.json) return printJson(replayed);
      say(
        replayed.count === 0
          ? `Nothing to resend since ${since}.`
          : `Resending events since ${since}: ${replayed.count}. To follow them: plant-store delivery list ${id}`,
      );
    },
  },
  delete: {
    description: 'delete a webhook with all of its deliveries, including waiting ones, after confirmation',
    arguments: [webhookId()],
    options: [option('--yes', 'do not ask')],
    examples: [`webhook delete ${WEBHOOK}`, `webhook delete ${WEBHOOK} --yes`],
    async run(flags: ApiFlags & { yes?: true }, id: string) {
      const { webhooks } = serviceFor(flags);
      if (!flags.yes) {
        refuseWithoutTerminal();
        await confirm(await webhooks.get(id));
      }
      await webhooks.delete(id);
      say(`Deleted the webhook ${id} and its deliveries.`);
    },
  },
});

async function confirm({ url, waiting }: Webhook): Promise<void> {
  insist(
    `This deletes the webhook to ${url} with its secrets and deliveries.`,
    waiting === 0
      ? 'No deliveries are waiting.'
      : `Waiting deliveries that would never be sent: ${waiting}. "webhook disable" holds them instead.`,
  );
  if (!/^y(?:es)?$/i.test(await ask('Delete it? [y/N] '))) throw new Failure('Nothing was deleted.');
}

function identityFields({ id, url, description, rate, publicKey }: Webhook | WebhookCreated): Field[] {
  return [
    ['ID', id],
    ['URL', url],
    ['Description', description],
    ['Rate', rate === undefined ? rate : `at most ${rate} attempts per second`],
    ['Public key', publicKey],
  ];
}

function healthFields(webhook: Webhook): Field[] {
  const { status, disabledReason, pausedUntil, waiting, failed } = webhook;
  const oldest = oldestOf(webhook);
  return [
    ['Status', status + (disabledReason === undefined ? '' : `: ${disabledReason}`)],
    ['Paused', pausedUntil && `until ${pausedUntil}, as requested by the receiver`],
    ['Waiting', waiting + (oldest === undefined ? '' : `, the oldest for ${oldest}`)],
    ['Failed', String(failed)],
    ['Last success', webhook.lastSuccessAt ?? 'never'],
    ['Last failure', webhook.lastFailureAt ?? 'never'],
    ['Created', webhook.createdAt],
  ];
}

function webhookRow(webhook: Webhook): string[] {
  const { id, status, pausedUntil, waiting, failed, url, description = '' } = webhook;
  const shown = pausedUntil !== undefined && status === 'enabled' ? 'paused' : status;
  return [id, shown, String(waiting), oldestOf(webhook) ?? '-', String(failed), url, description];
}

/** How long the oldest delivery has waited. */
function oldestOf({ oldestWaitingAge: seconds }: Webhook): string | undefined {
  return seconds === undefined ? undefined : roughDuration(seconds * 1000);
}

import type { Webhook, WebhookInput, WebhookPatch } from '../../packages/client/src/client.ts';
import { codeOf, sentenceOf } from './failure.ts';

/** The text in the form for a webhook. */
export type WebhookText = { url: string; description: string; rate: string };
export type WebhookErrors = { [Field in keyof WebhookText]?: string | undefined };

const MOST_RATE = 1_000;
const MOST_CHARACTERS = 255;

export function textOf({ url, description = '', rate }: Webhook): WebhookText {
  return { url, description, rate: rate === undefined ? '' : String(rate) };
}

/** The problems that the console can find; the service decides where the URL may point. */
export function errorsOf({ url, description, rate }: WebhookText): WebhookErrors {
  const errors: WebhookErrors = {};
  // Some supported browsers lack `URL.parse`.
  const target = URL.canParse(url.trim()) ? new URL(url.trim()) : null;
  if (url.trim() === '') errors.url = 'A webhook needs a URL.';
  else if (target === null || !/^https?:$/.test(target.protocol)) {
    errors.url = 'This is not a URL. Enter one such as https://example.com/plants.';
  }
  if ([...description].length > MOST_CHARACTERS) {
    errors.description = `A description has at most ${MOST_CHARACTERS} characters.`;
  }
  const value = Number(rate);
  if (rate.trim() !== '' && !(Number.isInteger(value) && value >= 1 && value <= MOST_RATE)) {
    errors.rate = `A rate is a whole number from 1 to ${MOST_RATE}.`;
  }
  return errors;
}

export function inputOf({ url, description, rate }: WebhookText): WebhookInput {
  return {
    url: url.trim(),
    ...(description.trim() === '' ? {} : { description }),
    ...(rate.trim() === '' ? {} : { rate: Number(rate) }),
  };
}

/** The changed members; null removes one. */
export function changeOf(before: Webhook, text: WebhookText): WebhookPatch {
  const input = inputOf(text);
  return {
    ...(input.url === before.url ? {} : { url: input.url }),
    ...(input.description === before.description ? {} : { description: input.description ?? null }),
    ...(input.rate === before.rate ? {} : { rate: input.rate ?? null }),
  };
}

/** The field that the service refused, if any. */
export function refusedField(error: unknown): keyof WebhookText | undefined {
  if (codeOf(error) === 42201) return 'url';
  if (codeOf(error) !== 40002) return undefined;
  const name = /member [`"'](\w+)/.exec(sentenceOf(error))?.[1];
  return (['url', 'description', 'rate'] as const).find((field) => field === name);
}

import { InvalidArgumentError } from 'commander';

/** For an argument that names a webhook. */
export function parseWebhookId(text: string): string {
  if (/^wh_[0-9a-z]+$/.test(text)) return text;
  throw new InvalidArgumentError('It is the id that is needed (wh_…), as webhook list shows it.');
}

/** For an argument that names a token: not the token itself. */
export function parseTokenId(text: string): string {
  if (/^tok_[0-9a-z]+$/.test(text)) return text;
  throw new InvalidArgumentError('It is the id that is needed (tok_…), as token list shows it.');
}

/** For an argument that names an event. */
export function parseEventId(text: string): string {
  if (/^evt_[0-9a-z]+$/.test(text)) return text;
  throw new InvalidArgumentError('It is the id that is needed (evt_…), as delivery list shows it.');
}

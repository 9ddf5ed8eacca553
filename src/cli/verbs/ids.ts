import { type Argument, InvalidArgumentError } from 'commander';
import { argument } from '../verb.ts';

/** `<id>`, or another name of it: one of a webhook. */
export const webhookId = (name = 'id') => idArgument(name, 'wh', 'webhook list');

/** One of a token: not the token itself. */
export const tokenId = () => idArgument('id', 'tok', 'token list');

/** One of an event. */
export const eventId = () => idArgument('event', 'evt', 'delivery list');

function idArgument(name: string, prefix: string, shownBy: string): Argument {
  return argument(`<${name}>`, `the id that ${shownBy} shows: ${prefix}_…`, (text) => {
    if (text.startsWith(`${prefix}_`) && /^[a-z]+_[0-9a-z]+$/.test(text)) return text;
    throw new InvalidArgumentError(`It is the id that is needed (${prefix}_…), as ${shownBy} shows it.`);
  });
}

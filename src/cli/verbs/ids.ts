import { type Argument, InvalidArgumentError } from 'commander';
import { canonicalId, Id, type PlantId } from '../../plants/plant.ts';
import { argument, refuseValue } from '../verb.ts';

export const webhookId = (name = '<id>') => idArgument(name, 'wh', 'webhook list');

/** The id of a token, not the token itself. */
export const tokenId = () => idArgument('<id>', 'tok', 'token list');

export const eventId = () => idArgument('<event>', 'evt', 'delivery list');

function idArgument(name: string, prefix: string, shownBy: string): Argument {
  return argument(name, `the id that ${shownBy} shows: ${prefix}_…`, (text) => {
    if (text.startsWith(`${prefix}_`) && /^[a-z]+_[0-9a-z]+$/.test(text)) return text;
    throw new InvalidArgumentError(`Pass the id (${prefix}_…) that ${shownBy} shows.`);
  });
}

/** A plant's, for a flag. */
export function parseId(text: string): PlantId {
  return canonicalId(text) ?? refuseValue(Id.description);
}

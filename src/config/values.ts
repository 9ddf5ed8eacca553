import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { access } from '../limits.ts';

// Each function reads the text of a setting, or throws an `Error` whose message is a sentence with the rule.

export function parsePort(text: string): number {
  const port = /^(?:0|[1-9]\d{0,4})$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new Error(`The port must be an integer from 0 to 65535, not ${JSON.stringify(text)}.`);
}

const HOST_NAME = /^(?=.{1,253}$)[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*$/i;
/** A text of digits and dots is meant to be an IPv4 address, so it must be a valid one. */
const LIKE_IPV4 = /^[\d.]+$/;

export function parseHost(text: string): string {
  if (isIP(text) !== 0 || (HOST_NAME.test(text) && !LIKE_IPV4.test(text))) return text;
  throw new Error(
    `The host must be an IP address or a host name, without a port, not ${JSON.stringify(text)}.`,
  );
}

/** The absolute path of a folder. */
export function parseFolder(text: string): string {
  if (text !== '' && !text.includes('\0')) return resolve(text);
  throw new Error('The folder must be a path.');
}

/** The URL without a trailing slash. */
export function parsePublicUrl(text: string): string {
  // `URL` drops line breaks and surrounding white space silently.
  const url = /[\s\\?#]/.test(text) ? null : URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return url.href.replace(/\/+$/, '');
  }
  // The value is not repeated: it may contain a password.
  throw new Error(
    'The public URL must be an http or https URL without user name, password, query or fragment, ' +
      'such as https://example.org/plant-store.',
  );
}

/** An integer from `least` to `most`, in its canonical form. */
export function parseCount(what: string, most: number, least = 1): (text: string) => number {
  return (text) => {
    const count = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    if (count >= least && count <= most) return count;
    throw new Error(`The ${what} must be an integer from ${least} to ${most}, not ${JSON.stringify(text)}.`);
  };
}

/** This many requests in this many seconds. */
export type Rate = { requests: number; seconds: number };

export const rateForm = `a number up to ${access.mostRequests} and a time such as 600/1m, in s, m or h and at most 24h`;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
const DAY = 24 * 3600;

export function parseRate(text: string): Rate {
  const [, count, time, unit = ''] = /^([1-9]\d{0,9})\/([1-9]\d{0,4})([smh])$/.exec(text) ?? [];
  const rate = { requests: Number(count), seconds: Number(time) * (SECONDS[unit] ?? Number.NaN) };
  if (rate.requests <= access.mostRequests && rate.seconds <= DAY) return rate;
  throw new Error(`The rate must be ${rateForm}, not ${JSON.stringify(text)}.`);
}

/** A URL that is compared or requested exactly as written, with or without a trailing slash. */
export function parseJwtUrl(what: string): (text: string) => string {
  return (text) => {
    const url = /[\s\\#]/.test(text) ? null : URL.parse(text);
    if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return text;
    // The value is not repeated: it may contain a password.
    throw new Error(
      `The ${what} must be an http or https URL without user name, password or fragment, such as https://id.example.org/.`,
    );
  };
}

/** Origins as browsers send them, separated by commas. `*` and patterns are refused. */
export function parseOrigins(text: string): readonly string[] {
  const origins = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  for (const origin of origins) {
    if (/^https?:[^*]+$/.test(origin) && URL.parse(origin)?.origin === origin) continue;
    throw new Error(
      `The origins must be exact, separated by commas, such as https://garden.example.org; not ${JSON.stringify(origin)}.`,
    );
  }
  return origins;
}

export function parseText(what: string): (text: string) => string {
  return (text) => {
    if (/^[^\p{Cc}\p{Cs}]{1,255}$/u.test(text)) return text;
    throw new Error(`The ${what} must be at most 255 characters without control characters.`);
  };
}

export function choice<T extends string>(what: string, choices: readonly T[]) {
  function parse(text: string): T {
    const value = choices.find((each) => each === text);
    if (value !== undefined) return value;
    throw new Error(`The ${what} must be one of ${choices.join(', ')}, not ${JSON.stringify(text)}.`);
  }
  return Object.assign(parse, { choices });
}

const { min, max } = access.bootstrapTokenLength;
export const bootstrapTokenForm = `${min} to ${max} visible ASCII characters without a comma`;
/** A comma would join two values of the header `Authorization`. */
const BOOTSTRAP_TOKEN = new RegExp(`^[\\x21-\\x2b\\x2d-\\x7e]{${min},${max}}$`);

/** Never repeats the value. */
export function parseBootstrapToken(text: string): string {
  if (!BOOTSTRAP_TOKEN.test(text)) {
    throw new Error(`The bootstrap token must be ${bootstrapTokenForm}.`);
  }
  return text;
}

/** Parses the text of a file, without a trailing line break. */
export function inFile<T>(parse: (text: string) => T): (file: string) => T {
  return (file) => parse(readText(file).replace(/\r?\n$/, ''));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The file cannot be read: ${reason}.`, { cause });
  }
}

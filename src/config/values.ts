import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { access } from '../limits.ts';
import { tracePackages } from './package.ts';

// Each function reads the text of a setting, or throws an `Error` whose message is a sentence with the rule.

/** An integer from `least` to `most`, in its canonical form. */
export function parseCount(what: string, most: number, least = 1): (text: string) => number {
  return (text) => {
    const count = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
    if (count >= least && count <= most) return count;
    throw new Error(`The ${what} must be an integer from ${least} to ${most}, not ${JSON.stringify(text)}.`);
  };
}

export const parsePort = parseCount('port', 65_535, 0);

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

/** An http or https URL without a trailing slash; undefined for any other text. */
export function plainUrl(text: string): string | undefined {
  const url = httpUrl(text, /[?#]/);
  return url && isAnonymous(url) ? withoutSlash(url) : undefined;
}

export function parsePublicUrl(text: string): string {
  const url = plainUrl(text);
  if (url !== undefined) return url;
  // The value is not repeated: it may contain a password.
  throw new Error(
    'The public URL must be an http or https URL without user name, password, query or fragment, ' +
      'such as https://example.org/plant-store.',
  );
}

/** A URL that is compared or requested exactly as written, with or without a trailing slash. */
export function parseJwtUrl(what: string): (text: string) => string {
  return (text) => {
    const url = httpUrl(text, /#/);
    if (url && isAnonymous(url)) return text;
    // The value is not repeated: it may contain a password.
    throw new Error(
      `The ${what} must be an http or https URL without user name, password or fragment, such as https://id.example.org/.`,
    );
  };
}

/** @param excluded matches texts that are refused though they are URLs */
function httpUrl(text: string, excluded: RegExp): URL | undefined {
  // `URL` drops line breaks and surrounding white space silently.
  const url = /[\s\\]/.test(text) || excluded.test(text) ? null : URL.parse(text);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

const isAnonymous = ({ username, password }: URL) => username === '' && password === '';

const withoutSlash = ({ href }: URL) => href.replace(/\/+$/, '');

export const rateForm = `a number up to ${access.mostRequests} and a time such as 600/1m, in s, m or h and at most 24h`;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };
const DAY = 24 * 3600;

/** This many requests in this many seconds. */
export function parseRate(text: string) {
  const [, count, time, unit = ''] = /^([1-9]\d{0,9})\/([1-9]\d{0,4})([smh])$/.exec(text) ?? [];
  const rate = { requests: Number(count), seconds: Number(time) * (SECONDS[unit] ?? Number.NaN) };
  if (rate.requests <= access.mostRequests && rate.seconds <= DAY) return rate;
  throw new Error(`The rate must be ${rateForm}, not ${JSON.stringify(text)}.`);
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
    // White space around it is easily overlooked, and no claim has it.
    if (/^(?!\s)[^\p{Cc}\p{Cs}]{1,255}(?<!\s)$/u.test(text)) return text;
    throw new Error(
      `The ${what} must be at most 255 characters, without control characters and surrounding white space.`,
    );
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
  return (file) => {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`The file cannot be read: ${reason}.`, { cause });
    }
    return parse(text.replace(/\r?\n$/, ''));
  };
}

// Settings for traces have OpenTelemetry's names and forms
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).

/** By name. */
type Pairs = Readonly<Record<string, string>>;

/** The URL of a collector, without a trailing slash. Also throws when the packages for traces are missing. */
export function parseEndpoint(text: string): string {
  const url = httpUrl(text, /[?#]/);
  if (url) {
    requireTracePackages();
    return withoutSlash(url);
  }
  // The value is not repeated: it may contain a password.
  throw new Error(
    'The collector must be an http or https URL without query or fragment, such as http://localhost:4318.',
  );
}

function requireTracePackages(): void {
  try {
    for (const name of Object.keys(tracePackages)) import.meta.resolve(name);
  } catch (cause) {
    // The lowest version of each range, so that they are compatible with each other.
    const wanted = Object.entries(tracePackages).map(([name, range]) => `${name}@${range.replace('^', '')}`);
    throw new Error(
      `Traces need packages that are not installed. Install them next to plant-store: npm install ${wanted.join(' ')}`,
      { cause },
    );
  }
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** Never repeats a value. */
export function parseHeaders(text: string): Pairs {
  const headers = pairsOf(text);
  const isHeader = ([name, value]: [string, string]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value);
  if (headers !== undefined && Object.entries(headers).every(isHeader)) return headers;
  throw new Error(
    'The headers must be name=value, separated by commas, such as api-key=secret; percent-encode other characters.',
  );
}

export function parseAttributes(text: string): Pairs {
  const attributes = pairsOf(text);
  if (attributes !== undefined) return attributes;
  throw new Error(
    'The attributes must be name=value, separated by commas, such as deployment.environment.name=production; ' +
      'percent-encode other characters.',
  );
}

export function parseRatio(text: string): number {
  const ratio = /^(?:0|1|[01]?\.\d{1,9}|1\.0*)$/.test(text) ? Number(text) : Number.NaN;
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new Error(`The share of traces must be a number from 0 to 1, not ${JSON.stringify(text)}.`);
}

/** `name=value,name=value`, percent-encoded (W3C Baggage); undefined if invalid. */
function pairsOf(text: string): Pairs | undefined {
  const pairs: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const [, name, value] = /^\s*([^=]*[^=\s])\s*=\s*(.*?)\s*$/s.exec(part) ?? [];
    if (name === undefined || value === undefined) return undefined;
    try {
      pairs.push([decodeURIComponent(name), decodeURIComponent(value)]);
    } catch {
      return undefined;
    }
  }
  return Object.fromEntries(pairs);
}

// Settings for traces, with OpenTelemetry's names and forms
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Each function reads the text
// of a setting, or throws an `Error` whose message is a sentence with the rule.

import { tracePackages } from './package.ts';

/** By name. */
export type Pairs = Readonly<Record<string, string>>;

/** The URL of a collector, without a trailing slash. Also throws when the packages for traces are missing. */
export function parseEndpoint(text: string): string {
  const url = /[\s\\?#]/.test(text) ? null : URL.parse(text);
  if (url && /^https?:$/.test(url.protocol)) {
    requireTracePackages();
    return url.href.replace(/\/+$/, '');
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

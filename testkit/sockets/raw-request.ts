import type { Service } from '../service/service.ts';

/** The text of a request head: a request line, and header fields below it. */
export function head(line: string, ...fields: string[]): string {
  return `${[line, ...fields].join('\r\n')}\r\n\r\n`;
}

/** The fields that a well-formed request of the admin has. */
export function usual(service: Service): string[] {
  return ['Host: localhost', `Authorization: Bearer ${service.token}`];
}

/** A chunk of a chunked body; the empty one is the last. */
export function chunk(data: string): string {
  return `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;
}

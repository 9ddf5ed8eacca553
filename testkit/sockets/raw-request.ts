import type { Service } from '../service/service.ts';

/** A request head: the request line and the header fields below it. */
export function head(line: string, ...fields: string[]): string {
  return `${[line, ...fields].join('\r\n')}\r\n\r\n`;
}

/** The fields of a well-formed request by admin. */
export function usual(service: Service): string[] {
  return ['Host: localhost', `Authorization: Bearer ${service.token}`];
}

/** A chunk of a chunked body; the empty one is the last. */
export function chunk(data: string): string {
  return `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;
}

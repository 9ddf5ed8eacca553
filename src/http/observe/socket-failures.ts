import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, errorAnswer } from '../../errors.ts';
import { http as limits } from '../../limits.ts';
import type { Measures } from '../../observability/port.ts';
import { closeAfterAnswers, unfinishedRequest } from '../admission/connection.ts';
import { nodeHttp } from '../node-http.ts';
import { breakBody } from '../request/body.ts';
import { urlTooLong } from '../request/request-guard.ts';

/**
 * Node's `clientError` event: the parser cannot read what a connection sent, or waited too long for the rest. Within
 * a body, the request fails unless it is already answered: a request never gets a second response. Anywhere else, the
 * connection gets its own response, after those to earlier requests.
 */
export function answerParserFailure(
  error: ParserError,
  socket: Socket,
  measures?: Pick<Measures, 'refused'>,
): void {
  if (isGone(error, socket)) return void socket.destroy();
  const failure = translate(error);
  const broken = unfinishedRequest(socket);
  if (broken) breakBody(broken, failure);
  // Data after a request with `Connection: close` is not a request.
  const isPart = broken !== undefined || error.code === 'HPE_CLOSED_CONNECTION';
  const sayFailure = () => {
    measures?.refused(failure.code);
    return answer(failure);
  };
  closeAfterAnswers(socket, isPart ? undefined : sayFailure);
}

/** The same for a server that writes every response at once and then closes: nothing else is in progress. */
export function answerUnreadable(server: Server): void {
  server.on('clientError', (error: ParserError, socket: Socket) => {
    if (isGone(error, socket)) socket.destroy();
    else socket.end(answer(translate(error)), () => socket.destroy());
  });
}

function isGone({ code }: ParserError, { writable }: Socket): boolean {
  return code === 'ECONNRESET' || !writable;
}

/**
 * `rawPacket`, a Buffer, is what could not be parsed, up to the byte at `bytesParsed`; type declarations differ about
 * it. `reason` is the parser's.
 */
type ParserError = { code: string; reason?: string; rawPacket: unknown; bytesParsed?: number };

function translate(error: ParserError): AppError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return stillInRequestLine(error.rawPacket)
        ? urlTooLong()
        : new AppError(43100, `The header fields exceed ${limits.headerBytes} bytes in total.`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError(41300, 'The chunk extensions of the body are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError(40800, 'The request did not arrive in time; send it again, faster.');
    case 'HPE_PAUSED_H2_UPGRADE':
      return otherVersion();
    case 'HPE_INVALID_URL':
      return new AppError(40000, 'The URL is not a path, or has a character that must be percent-encoded.');
    case 'HPE_INVALID_VERSION':
      return isOtherVersion(error) ? otherVersion() : unreadable(error);
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return new AppError(
        40000,
        'Transfer-Encoding cannot be read, or appears together with Content-Length.',
      );
    default:
      return unreadable(error);
  }
}

function otherVersion(): AppError {
  return new AppError(50500, 'The HTTP version is not supported; use HTTP/1.1.');
}

function unreadable(cause: ParserError): AppError {
  return new AppError(40000, 'The request cannot be read as HTTP/1.1.', { cause });
}

/** Whether the version is well-formed as far as it has arrived: the parser stops at its second digit. */
function isOtherVersion({ reason, rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (reason !== 'Invalid HTTP version' || !Buffer.isBuffer(rawPacket)) return false;
  return /^\d?(?:\r|$)/.test(rawPacket.toString('latin1', bytesParsed, bytesParsed + 2));
}

/** Whether the unreadable data begins with a request line that exceeds the URL limit. */
function stillInRequestLine(packet: unknown): boolean {
  if (!Buffer.isBuffer(packet)) return false;
  const end = packet.indexOf('\r\n');
  return /^[A-Z-]+ /.test(packet.toString('latin1', 0, 32)) && (end === -1 || end > limits.urlBytes);
}

function answer(error: AppError): string {
  const { status, fields, body } = errorAnswer(error);
  const lines = Object.entries({ ...fields, date: new Date().toUTCString(), connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

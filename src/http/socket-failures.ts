import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, errorBody } from '../errors.ts';
import { http as limits } from '../limits.ts';
import { urlTooLong } from './request-guard.ts';

const METHODS = 'GET, HEAD, POST, DELETE, OPTIONS';

/** Answers what never becomes a request: what the HTTP parser refuses, CONNECT, and expectations. */
export function answerSocketFailures(server: Server): void {
  server.on('connect', (_request, socket) => {
    end(socket, new AppError(40500, 'CONNECT is not supported here.', { headers: { allow: METHODS } }));
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const error = new AppError(41700, 'The only expectation that is supported is 100-continue.');
    response.writeHead(error.status, { 'content-type': 'application/json', connection: 'close' });
    response.end(errorBody(error.code, error.message));
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // A body that is too large is refused before it is sent.
    if (!(Number(request.headers['content-length']) > limits.bodyBytes)) response.writeContinue();
    server.emit('request', request, response);
  });
}

/** Node's `clientError` event: the parser gave up on what a connection sent. */
export function answerParserFailure(error: ParserError, socket: Duplex & { _httpMessage?: unknown }): void {
  // An answer is under way on this connection: a second one in the middle of it would corrupt it.
  const answering = socket._httpMessage as ServerResponse | undefined;
  if (error.code === 'ECONNRESET' || !socket.writable || answering?.headersSent) {
    socket.destroy();
    return;
  }
  end(socket, translate(error));
}

/** `rawPacket`, a Buffer, is what could not be parsed; declarations differ about its type. */
type ParserError = { code: string; rawPacket: unknown };

function translate(error: ParserError): AppError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return stillInRequestLine(error.rawPacket) ? urlTooLong() : new AppError(43100, tooLarge());
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError(41300, 'The chunk extensions of the body are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError(40800, 'The request did not arrive in time; send it again, faster.');
    case 'HPE_INVALID_VERSION':
      return new AppError(50500, 'The HTTP version is not supported; use HTTP/1.1.');
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return new AppError(40000, 'Transfer-Encoding cannot be read, or stands beside Content-Length.');
    default:
      return new AppError(40000, 'The request cannot be read as HTTP/1.1.', { cause: error });
  }
}

function tooLarge(): string {
  return `The header fields are larger than ${limits.headerBytes} bytes in all.`;
}

function stillInRequestLine(packet: unknown): boolean {
  return Buffer.isBuffer(packet) && !packet.includes('\r\n');
}

function end(socket: Duplex, error: AppError): void {
  const body = errorBody(error.code, error.message);
  const phrase = STATUS_CODES[error.status] ?? 'Error';
  const headers = {
    ...error.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${phrase}\r\n${lines.join('')}\r\n${body}`);
}

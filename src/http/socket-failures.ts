import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, errorBody } from '../errors.ts';
import { http as limits } from '../limits.ts';
import type { Measures } from '../measures.ts';
import { waitsForContinue } from './continue.ts';
import { urlTooLong } from './request-guard.ts';

const METHODS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS';

/** Answers what never becomes a request: what the HTTP parser refuses, CONNECT, and expectations. */
export function answerSocketFailures(server: Server, measures?: Pick<Measures, 'refused'>): void {
  const refuse = (request: IncomingMessage, response: ServerResponse) =>
    refuseExpectation(request, response, measures);
  server.on('connect', (_request, socket) => {
    // Node lets go of the connection here: without these its reset ends the process, and nothing ever closes it.
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    const error = new AppError(40500, 'CONNECT is not supported here.', { headers: { allow: METHODS } });
    measures?.refused(error.code, { method: 'CONNECT', durationMs: 0 });
    end(socket, error);
  });
  server.on('checkExpectation', refuse);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Node calls this for whatever contains the word.
    if (request.headers.expect?.toLowerCase() !== '100-continue') return refuse(request, response);
    waitsForContinue(request, response);
    server.emit('request', request, response);
  });
}

function refuseExpectation(
  { method }: IncomingMessage,
  response: ServerResponse,
  measures?: Pick<Measures, 'refused'>,
): void {
  const error = new AppError(41700, 'The only expectation that is supported is 100-continue.');
  measures?.refused(error.code, { method, durationMs: 0 });
  response.writeHead(error.status, { 'content-type': 'application/json', connection: 'close' });
  response.end(errorBody(error.code, error.message));
}

/**
 * Node's `clientError` event: the parser gave up on what a connection sent. The requests before it are
 * answered first.
 */
export function answerParserFailure(
  error: ParserError,
  socket: Duplex & { _httpMessage?: ServerResponse | null },
  measures?: Pick<Measures, 'failed' | 'refused'>,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answering = socket._httpMessage;
  if (answering && !isOfBrokenRequest(answering))
    answering.once('close', () => answerParserFailure(error, socket, measures));
  else if (answering?.headersSent) socket.destroy();
  else {
    const failure = translate(error);
    // Of one that broke off in its body the request counts by itself.
    if (answering) measures?.failed(failure.code);
    else measures?.refused(failure.code);
    end(socket, failure);
  }
}

/** Whether the request that is being answered is the one that broke off: then nothing comes before it. */
function isOfBrokenRequest(answering: ServerResponse): boolean {
  return !answering.req.complete;
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

/** Whether what could not be read begins with a request line that does not end within the bound of a URL. */
function stillInRequestLine(packet: unknown): boolean {
  if (!Buffer.isBuffer(packet)) return false;
  const end = packet.indexOf('\r\n');
  return /^[A-Z-]+ /.test(packet.toString('latin1', 0, 32)) && (end === -1 || end > limits.urlBytes);
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

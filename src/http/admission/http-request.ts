import { AppError } from '../../errors.ts';
import { http as limits } from '../../limits.ts';
import { nodeHttp } from '../node-http.ts';
import { breakBody } from '../request/body.ts';
import { closeAfterAnswers } from './closing.ts';
import { exceedsShare } from './pipelining.ts';

/**
 * A request that never leaves HTTP/1.1, and bounds what Node allocates for what a client sends in one piece, all of which
 * Node parses before anything else runs.
 */
export class HttpRequest extends nodeHttp.IncomingMessage {
  readonly #isOneTooMany = exceedsShare(this.socket);
  #chunks = 0;

  /**
   * Node would hand over the connection as soon as it reads CONNECT, before it answers earlier requests. CONNECT is an
   * ordinary request here, and `Upgrade` is ignored, as RFC 9110 §7.8 allows. Of one request too many, Node hears that it
   * leaves HTTP: nobody listens for that, so Node drops what follows and closes the connection.
   */
  get upgrade(): boolean {
    return this.#isOneTooMany;
  }

  set upgrade(_asked: boolean) {}

  /** Node calls it for each chunk of the body, even if nobody reads it, and null at its end. */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null || ++this.#chunks <= limits.bodyChunks) return super.push(chunk);
    if (this.#chunks === limits.bodyChunks + 1) {
      const message = `The body is in more than ${limits.bodyChunks} chunks; send it in fewer.`;
      breakBody(this, new AppError(41300, message));
      closeAfterAnswers(this.socket);
    }
    return false;
  }
}

import { AppError } from '../../errors.ts';
import { http as limits } from '../../limits.ts';
import { nodeHttp } from '../node-http.ts';
import { breakBody } from '../request/body.ts';
import { closeAfterAnswers, exceedsShare } from './connection.ts';

/** As many small chunks as this are not gathered: most bodies are one chunk. */
const FEW = 16;
const GATHERED_BYTES = 4_096;

/**
 * A request that never leaves HTTP/1.1, and bounds what Node allocates for what a client sends in one piece, all of which
 * Node parses before anything else runs.
 */
export class HttpRequest extends nodeHttp.IncomingMessage {
  readonly #isOneTooMany = exceedsShare(this.socket);
  #chunks = 0;
  #gathered: Buffer | undefined;
  #filled = 0;

  /**
   * Node would hand over the connection as soon as it reads CONNECT, before it answers earlier requests. CONNECT is an
   * ordinary request here, and `Upgrade` is ignored, as RFC 9110 §7.8 allows. Of one request too many, Node hears that it
   * leaves HTTP: nobody listens for that, so Node drops what follows and closes the connection.
   */
  get upgrade(): boolean {
    return this.#isOneTooMany;
  }

  set upgrade(_asked: boolean) {}

  /**
   * Node calls it for each chunk of the body, even if nobody reads it, and with null at its end. Many small ones are
   * copied into one buffer, since each would take some 400 bytes until the body is read.
   */
  override push(chunk: Buffer | null): boolean {
    if (chunk === null || chunk.length >= GATHERED_BYTES || ++this.#chunks <= FEW) {
      this.#pushGathered();
      return super.push(chunk);
    }
    if (this.#chunks > limits.bodyChunks) return this.#refuse();
    const isRoomy = this.#filled + chunk.length <= GATHERED_BYTES || this.#pushGathered();
    this.#gathered ??= this.#beginGathering();
    this.#filled += chunk.copy(this.#gathered, this.#filled);
    return isRoomy;
  }

  /** Gathers what Node has read at once: the next bytes may be long in coming. */
  #beginGathering(): Buffer {
    setImmediate(() => this.#pushGathered());
    return Buffer.allocUnsafe(GATHERED_BYTES);
  }

  #pushGathered(): boolean {
    const bytes = this.#gathered?.subarray(0, this.#filled);
    this.#gathered = undefined;
    this.#filled = 0;
    return bytes === undefined || super.push(bytes);
  }

  #refuse(): boolean {
    if (this.#chunks > limits.bodyChunks + 1) return false;
    const message = `The body is in more than ${limits.bodyChunks} small chunks; send it in fewer.`;
    breakBody(this, new AppError(41300, message));
    closeAfterAnswers(this.socket);
    return false;
  }
}

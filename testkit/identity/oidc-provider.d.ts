/** The part of `oidc-provider` that the tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  /** https://github.com/panva/node-oidc-provider/blob/main/docs/README.md */
  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
  }
}

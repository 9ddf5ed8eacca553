import { settings } from '../../src/config.ts';
import { code, table } from './table.ts';

const INTRODUCTION = `# Configuration

A setting is an environment variable and, unless it holds a secret, a flag of \`plant-store serve\`. The flag wins over the
variable, the variable over the default. A variable that is set but empty counts as not set. Wrong values stop the start
with exit code 2 and one line for each of them. \`DATA_DIR\` is also a setting, and \`--data-dir\` a flag, of every verb
that works on the store.`;

const NOTES = `## Notes

**\`BOOTSTRAP_TOKEN\`** has no flag, because a command line is visible to everybody on the machine. Only one of it and
\`BOOTSTRAP_TOKEN_FILE\` may be set. With either, the user \`admin\` has exactly that token beside those that were made
with \`plant-store token create\`; another value at a later start replaces it, none leaves it as it is. Without
either, the first start makes a token and prints it, once.

**\`WEBHOOK_ALLOWED_NETWORKS\`**: CIDRs separated by commas, such as \`10.0.0.0/8,fd00::/8\`. Without it, webhooks reach
public addresses over \`https\` only; a network that stands here is reached over plain \`http\` as well.

**\`WEBHOOK_RETRY_SCHEDULE\`**: as many attempts as entries. The first entry counts from the event, each other one from
the attempt before it; all but the first are spread by ±10 %. Units are \`ms\`, \`s\`, \`m\`, \`h\` and \`d\`.

**\`PUBLIC_URL\`**: what the paths in \`Location\` and \`Link\` begin with, the server of the OpenAPI document, and the
\`ce-source\` of webhooks. [Behind a reverse proxy](../how-to/reverse-proxy.md) tells the rest.

**\`JWT_ISSUER\`, \`JWT_AUDIENCE\`**: with both, JWTs of that provider are taken beside the service's own tokens; only one
of them stops the start. [A worked example](../how-to/identity-provider.md).

**\`RATE_LIMIT\`**: \`600/1m\` lets each token make 600 requests within a minute of its first one; what is beyond is
answered 429 \`42900\`. Answers to a token that counts then carry \`RateLimit\` and \`RateLimit-Policy\`. Of a JWT the user is counted.

**\`TRUST_PROXY\`**: CIDRs separated by commas. Without it every client behind a proxy has the proxy's address, and so one
count of failures for all of them.

**\`OTEL_…\`**: with \`OTEL_EXPORTER_OTLP_ENDPOINT\`, and only then, traces are made. These variables are OpenTelemetry's own.
\`OTEL_EXPORTER_OTLP_HEADERS\` has no flag, because it may hold a key. [Traces](../how-to/trace.md) tells the rest.`;

export function configurationPage(): string {
  const rows = Object.values(settings).map(({ env, flag, defaultText, description }) => [
    code(env),
    flag === undefined ? '' : code(flag),
    defaultText ?? '',
    description,
  ]);
  return [INTRODUCTION, table(['Variable', 'Flag', 'Default', 'Meaning'], rows), NOTES].join('\n\n');
}

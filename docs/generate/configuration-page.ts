import { settings } from '../../src/config/settings.ts';
import { code, table } from './table.ts';

const INTRODUCTION = `# Configuration

A setting is an environment variable and, unless it holds a secret, a flag of \`plant-store serve\`. The flag wins over
the variable, the variable over the default. An empty variable counts as not set. With a wrong value the service does
not start: it exits with code 2 and prints one line for each problem. Every verb that works on the store also reads
\`DATA_DIR\` and takes \`--data-dir\`.`;

const NOTES = `## Notes

**\`BOOTSTRAP_TOKEN\`** has no flag, because everybody on the machine can see a command line. Set it or
\`BOOTSTRAP_TOKEN_FILE\`, not both. The token acts for the user \`admin\`, with every scope. Starting with another value
replaces it; starting without one keeps it. Tokens created with \`plant-store token create\` are not affected. If neither
is set, the first start creates a token and prints it once.

**\`WEBHOOK_ALLOWED_NETWORKS\`**: CIDRs separated by commas, such as \`10.0.0.0/8,fd00::/8\`. Without it, webhooks reach
public addresses over \`https\` only. They reach the networks named here over plain \`http\` as well.

**\`WEBHOOK_RETRY_SCHEDULE\`**: one entry for each attempt. The first entry counts from the event, each later one from
the previous attempt; all but the first vary by ±10 %. Units are \`ms\`, \`s\`, \`m\`, \`h\` and \`d\`.

**\`PUBLIC_URL\`**: the start of the paths in \`Location\` and \`Link\`, the server in the OpenAPI document, and the
\`ce-source\` of webhooks. See [Behind a reverse proxy](../how-to/reverse-proxy.md).

**\`JWT_ISSUER\`, \`JWT_AUDIENCE\`**: with both, the service accepts JWTs of that provider as well as its own tokens. With
only one of them it does not start. See [a worked example](../how-to/identity-provider.md).

**\`RATE_LIMIT\`**: \`600/1m\` lets each token make 600 requests in the minute that its first request starts. Further
requests are answered 429 \`42900\`. Answers then carry \`RateLimit\` and \`RateLimit-Policy\`. JWTs are counted by user.

**\`TRUST_PROXY\`**: CIDRs separated by commas. Without it, every client behind a proxy has the proxy's address, so they
all share one count of failed authentications.

**\`OTEL_…\`**: the service exports traces only if \`OTEL_EXPORTER_OTLP_ENDPOINT\` is set. It then needs packages that a
checkout and the container image have and the npm package lacks; without them the service does not start, and says which
to install. The names are
OpenTelemetry's own. \`OTEL_EXPORTER_OTLP_HEADERS\` has no flag, because it may hold a key. See
[Traces](../how-to/trace.md).`;

export function configurationPage(): string {
  const rows = Object.values(settings).map(({ env, flag, defaultText, description }) => [
    code(env),
    flag === undefined ? '' : code(flag),
    defaultText ?? '',
    description,
  ]);
  return [INTRODUCTION, table(['Variable', 'Flag', 'Default', 'Meaning'], rows), NOTES].join('\n\n');
}

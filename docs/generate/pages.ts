import { openapiDocument, operations } from '../../src/http/routes/openapi.ts';
import { cliPages } from './cli-pages.ts';
import { clientSchemas } from './client-schemas.ts';
import { configurationPage } from './configuration-page.ts';
import { envExample } from './env-example.ts';
import { errorsPage } from './errors-page.ts';
import { limitsPage } from './limits-page.ts';
import { metricsPage } from './metrics-page.ts';
import { operationPages } from './operation-pages.ts';

/**
 * Generates the reference pages, by path from the root of the project. The OpenAPI document is exactly what
 * `plant-store openapi` prints.
 */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const document = openapiDocument();
  return new Map([
    ['docs/reference/errors.md', page('src/errors.ts', errorsPage(operations))],
    ['docs/reference/configuration.md', page('src/config/settings.ts', configurationPage())],
    ['docs/reference/limits.md', page('src/limits.ts', limitsPage())],
    ['docs/reference/metrics.md', page('src/observability/catalogue.ts', await metricsPage())],
    ...below(await cliPages(), 'the help of each verb'),
    ...below(operationPages(operations), 'src/http/routes/'),
    ['packages/client/src/schemas.ts', clientSchemas(document)],
    ['.env.example', envExample()],
    ['docs/reference/openapi.json', `${JSON.stringify(document, null, 2)}\n`],
  ]);
}

function below(pages: ReadonlyMap<string, string>, source: string) {
  return [...pages].map(([name, text]) => [`docs/reference/${name}`, page(source, text)] as const);
}

function page(source: string, text: string): string {
  return `<!-- Made by "npm run docs" from ${source}. Change that, not this. -->\n\n${text.trim()}\n`;
}

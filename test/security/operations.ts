export type Operation = {
  operationId: string;
  method: string;
  /** With its parameters in braces. */
  path: string;
  /** Whether it requires a bearer token. */
  isSecured: boolean;
};

type Security = readonly object[];
type Document = {
  security?: Security;
  paths: Record<string, Record<string, { operationId: string; security?: Security }>>;
};

/** Every operation in the document of a running service. */
export async function servedOperations(url: string): Promise<Operation[]> {
  const response = await fetch(`${url}/openapi.json`);
  // The shape of an OpenAPI document; missing parts fail the tests that use it.
  const document = (await response.json()) as Document;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security = document.security ?? [] }]) => ({
      operationId,
      method: method.toUpperCase(),
      path,
      isSecured: security.length > 0,
    })),
  );
}

/** The path with each parameter replaced. */
export function fill(path: string, inPlaceOf: (parameter: string) => string): string {
  return path.replace(/\{(\w+)\}/g, (_, parameter: string) => inPlaceOf(parameter));
}

import assert from 'node:assert/strict';
import type { Page, Request, Route } from 'playwright-core';

/** Holds the requests that match, in order, and lets the test answer them. */
export async function intercept(page: Page, is: (request: Request) => boolean) {
  const routes: Route[] = [];
  let arrived = Promise.withResolvers<void>();
  await page.route('**', (route) => {
    if (!is(route.request())) return route.fallback();
    routes.push(route);
    arrived.resolve();
    arrived = Promise.withResolvers<void>();
  });
  return {
    routes,
    async next(count: number): Promise<Route> {
      while (routes.length < count) await arrived.promise;
      const route = routes[count - 1];
      assert.ok(route);
      return route;
    },
  };
}

import assert from 'node:assert/strict';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Service } from '../service/service.ts';
import { findChromium } from './chromium.ts';

/** A real browser. */
export type TestBrowser = {
  /**
   * Opens the console in its own browser context and passes its page on. Fails when the browser complains: about a
   * script error, a violation of the Content-Security-Policy, or a request to another host.
   */
  visit(service: Console, options: VisitOptions, use: (page: Page) => Promise<void>): Promise<void>;
  /** May be called twice. */
  stop(): Promise<void>;
};

/** Of a service in this process or another. */
type Console = Pick<Service, 'url' | 'token'>;

export type VisitOptions = {
  /** Where in the console, such as `#/plants`, or an absolute path. */
  at?: string;
  /** Signs in with this token; by default admin's. Null stays signed out. */
  token?: string | null;
  /** 1600 by default. */
  width?: number;
  /** Allows requests to fail, for tests that stop the network or the service. */
  mayLoseConnection?: boolean;
  /** Lets the test advance time with `page.clock`. */
  hasClock?: boolean;
  context?: BrowserContextOptions;
};

const root = join(import.meta.dirname, '..', '..');
/** Longer than anything takes on a busy machine. */
const PATIENCE_MS = 90_000;

/**
 * Saves CPU. V8 does not optimise scripts in other threads, which ends after the page is closed, and collects the many
 * short-lived objects of axe less often. The compositor draws in software without imitating a GPU.
 */
const ARGS = [
  '--js-flags=--single-threaded,--min-semi-space-size=64,--max-semi-space-size=64',
  '--disable-gpu-compositing',
];

/** Shared by the test files of a process. */
let shared: { browser: Promise<Browser>; files: number } | undefined;

export async function startBrowser(): Promise<TestBrowser> {
  refuseOldBuild();
  shared ??= { browser: launch(), files: 0 };
  const used = shared;
  used.files++;
  const browser = await used.browser;
  let hasLeft = false;
  return {
    visit: (service, options, use) => visit(browser, service, options, use),
    async stop() {
      if (hasLeft) return;
      hasLeft = true;
      used.files--;
      if (used.files > 0) return;
      shared = undefined;
      await browser.close();
    },
  };
}

async function launch(): Promise<Browser> {
  const { executablePath, env } = await findChromium();
  const start = (chromiumSandbox: boolean) =>
    chromium.launch({ executablePath, chromiumSandbox, env: { ...process.env, ...env }, args: ARGS });
  // Chromium has no sandbox for root, nor on some machines.
  const isRoot = process.getuid?.() === 0;
  return isRoot ? start(false) : start(true).catch(() => start(false));
}

async function visit(
  browser: Browser,
  service: Console,
  options: VisitOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const { at = '#/', token = service.token, width = 1600, mayLoseConnection = false } = options;
  const viewport = { width, height: width < 600 ? 740 : 900 };
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce', ...options.context });
  const complaints: string[] = [];
  try {
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    listen(page, service, { complaints, mayLoseConnection });
    if (options.hasClock) await page.clock.install();
    const answer = await page.goto(new URL(at, `${service.url}/console/`).href);
    assert.equal(answer?.status(), 200);
    if (token !== null) await signIn(page, token);
    await use(page);
    assert.deepEqual(complaints, []);
  } catch (error) {
    // The browser's complaints often explain a wrong page.
    if (error instanceof Error && complaints.length > 0) error.message += `\n${complaints.join('\n')}`;
    throw error;
  } finally {
    await context.close();
  }
}

/** Waits for the title, which follows the page a moment later. */
export async function untilTitled(page: Page, title: string): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while ((await page.title()) !== title && Date.now() < until) await pause(20);
  assert.equal(await page.title(), title);
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Sections' }).waitFor();
}

type Listening = { complaints: string[]; mayLoseConnection: boolean };

function listen(page: Page, { url }: Console, { complaints, mayLoseConnection }: Listening): void {
  page.on('pageerror', (error) => complaints.push(`an error in the script: ${error.stack}`));
  page.on('console', (message) => {
    const text = message.text();
    // The browser logs every failed API response; the tests check those themselves.
    if (/^Failed to load resource: the server responded with a status of/.test(text)) return;
    if (mayLoseConnection && /net::ERR_/.test(text)) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(text);
  });
  page.on('request', (request) => {
    const isOwn = /^(?:blob|data):/.test(request.url()) || request.url().startsWith(`${url}/`);
    if (!isOwn) complaints.push(`a request to ${request.url()}`);
  });
  page.on('response', (response) => {
    const isFile = response.url().startsWith(`${url}/console/`);
    if (isFile && response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
}

/** An old build would test old code. */
function refuseOldBuild(): void {
  const built = statSync(join(root, 'build/console/index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newer = globSync('console/**/*.{ts,tsx,css,html}', { cwd: root }).find(
    (file) => statSync(join(root, file)).mtimeMs > built,
  );
  if (newer) throw new Error(`${newer} is newer than build/console. Run "npm run prepare".`);
}

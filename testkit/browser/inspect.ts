import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

const SCREENSHOTS = join(import.meta.dirname, '..', '..', 'build', 'screenshots');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const WIDTHS = [360, 1600] as const;

/**
 * Looks at what the page shows now, on a narrow and a wide screen, light and dark: axe finds nothing, nothing sticks out
 * at the side, and a picture of each is written to `build/screenshots`.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  await mkdir(SCREENSHOTS, { recursive: true });
  const before = page.viewportSize();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width < 600 ? 740 : 900 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const what = `${name}-${width}-${colorScheme}`;
      await page.screenshot({ path: join(SCREENSHOTS, `${what}.png`) });
      assert.deepEqual(await violations(page, colorScheme), [], what);
    }
    await assertFits(page, name);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  if (before) await page.setViewportSize(before);
}

/** Looks at a phone's width only: nothing sticks out at the side. */
export async function inspectNarrow(page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  await page.setViewportSize({ width: WIDTHS[0], height: 740 });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}-${WIDTHS[0]}-light.png`) });
  await assertFits(page, name);
  if (before) await page.setViewportSize(before);
}

async function assertFits(page: Page, name: string): Promise<void> {
  const width = page.viewportSize()?.width ?? 0;
  assert.ok((await widthOf(page)) <= width, `${name} is ${await widthOf(page)} wide at ${width}`);
  for (const dialog of await page.getByRole('dialog').all()) {
    const isTooWide = await dialog.evaluate(
      ({ scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number }) =>
        scrollWidth > clientWidth,
    );
    assert.ok(!isTooWide, `${name}: something is cut off at the side of the dialog at ${width}`);
  }
}

function widthOf(page: Page): Promise<number> {
  return page.locator('html').evaluate(({ scrollWidth }: { scrollWidth: number }) => scrollWidth);
}

/** In the dark only the colors are others. */
async function violations(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  const axe = new AxeBuilder({ page });
  if (colorScheme === 'dark') axe.withRules(['color-contrast']);
  else axe.withTags(WCAG);
  const found = await axe.analyze();
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')} ${failureSummary}`),
  );
}

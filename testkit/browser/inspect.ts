import assert from 'node:assert/strict';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** A folder for pictures of what tests look at; none are taken without. */
const { SCREENSHOTS } = process.env;
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const WIDTHS = [360, 1600] as const;
/** The narrowest and the widest screen, and where the layout changes. */
const OTHER_WIDTHS = [320, 768, 999, 1000, 1200, 2560] as const;

/**
 * Inspects the page on a narrow and a wide screen, light and dark: axe finds nothing. On screens of all sizes nothing
 * overflows at the side, and tables split no words.
 * Writes screenshots to `build/screenshots`.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width < 600 ? 740 : 900 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const what = `${name}-${width}-${colorScheme}`;
      await takePicture(page, what);
      assert.deepEqual(await violations(page, colorScheme), [], what);
    }
    await assertFits(page, name);
  }
  for (const width of OTHER_WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await assertFits(page, name);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  if (before) await page.setViewportSize(before);
}

/** The same at a phone's width only, without axe. */
export async function inspectNarrow(page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  await page.setViewportSize({ width: WIDTHS[0], height: 740 });
  await takePicture(page, `${name}-${WIDTHS[0]}-light`);
  await assertFits(page, name);
  if (before) await page.setViewportSize(before);
}

async function takePicture(page: Page, what: string): Promise<void> {
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${what}.png`) });
}

async function assertFits(page: Page, name: string): Promise<void> {
  const width = page.viewportSize()?.width ?? 0;
  // The answer is of the script below.
  const found = (await page.evaluate(MEASURES)) as Measures;
  assert.ok(found.width <= width, `${name} is ${found.width} wide at ${width}`);
  assert.equal(found.cutOff, 0, `${name}: something is cut off at the side of the dialog at ${width}`);
  assert.deepEqual(found.splitWords, [], `${name} splits words at ${width}`);
  assert.deepEqual(found.coveredCells, [], `${name} has text over another cell at ${width}`);
  assert.deepEqual(found.coveredNames, [], `${name} has a control over a name at ${width}`);
  assert.deepEqual(found.coveredControls, [], `${name} has an error over a control at ${width}`);
}

type Measures = {
  width: number;
  /** How many dialogs are too narrow for their content. */
  cutOff: number;
  /** The words of tables that stand on two lines. Longer ones may have to. */
  splitWords: string[];
  /** The texts of tables that are wider than their cell. */
  coveredCells: string[];
  /** The names of rows that a control of the row lies on. */
  coveredNames: string[];
  /** The errors of filters that lie on a control. */
  coveredControls: string[];
};

/** Script for the page. One call for all measures: each call costs as much as a measure. */
const MEASURES = `(() => {
const liesOn = (element, controls) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const texts = [...range.getClientRects()];
  return [...controls].map((control) => control.getBoundingClientRect()).some((box) =>
    texts.some((text) => text.left < box.right && text.right > box.left && text.top < box.bottom && text.bottom > box.top),
  );
};
return {
  width: document.documentElement.scrollWidth,
  cutOff: [...document.querySelectorAll('dialog, [role=dialog]')].filter(
    ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
  ).length,
  splitWords: [...document.querySelectorAll('table.table :is(th, td)')].flatMap((cell) => {
    const split = [];
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { currentNode: node } = texts;
      for (const { 0: word, index } of node.data.matchAll(/(?<!\\S)[\\p{L}\\p{N}]{1,14}(?!\\S)/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) split.push(word);
      }
    }
    return split;
  }),
  coveredCells: [...document.querySelectorAll('table.table :is(th, td):not(:has(.hidden))')].flatMap((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const { right } = cell.getBoundingClientRect();
    return [...range.getClientRects()].some((part) => part.right > right + 1) ? [cell.textContent] : [];
  }),
  coveredNames: [...document.querySelectorAll('table.table tbody tr')].flatMap((row) => {
    const [name] = row.querySelectorAll('td.name');
    return name && liesOn(name, row.querySelectorAll('input, button, .icon-button')) ? [name.textContent] : [];
  }),
  coveredControls: [...document.querySelectorAll('.filters .error')].flatMap((error) =>
    liesOn(error, document.querySelectorAll('label, input, select, button, .button')) ? [error.textContent] : [],
  ),
};
})()`;

/** Dark mode differs only in colors. */
async function violations(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  const rules: axe.RunOptions =
    colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : { runOnly: { type: 'tag', values: WCAG } };
  // Once for each document: the script is half a megabyte.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const options = JSON.stringify({ ...rules, resultTypes: ['violations'] });
  // The answer is of the script above.
  const found = (await page.evaluate(`axe.run(document, ${options})`)) as axe.AxeResults;
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(' ')} ${failureSummary}`),
  );
}

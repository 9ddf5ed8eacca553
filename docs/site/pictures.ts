import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { root } from './sources.ts';

export type Picture = {
  name: string;
  svg: string;
  /** For a style sheet of the site; counts for this picture alone. */
  style: string;
};

/**
 * A picture as part of the page, where it needs no style of its own: the policy of the pages admits none inline. Its ids
 * get its name before them, since they are now those of the page.
 */
export function inlinePicture(source: string, src: string): Picture {
  const file = join(root, dirname(source), src);
  const name = basename(file, '.svg');
  const text = readFileSync(file, 'utf8');
  const [, inner = ''] = /<style>(.*?)<\/style>/s.exec(text) ?? [];
  const own = (part: string) =>
    part
      .replace(/\bid="([^"]+)"/g, `id="${name}-$1"`)
      .replace(/url\(#([^)]+)\)/g, `url(#${name}-$1)`)
      .replace(/\b(aria-labelledby)="([^"]+)"/g, (_, attribute: string, ids: string) => {
        const named = ids.split(' ').map((id) => `${name}-${id}`);
        return `${attribute}="${named.join(' ')}"`;
      });
  const svg = own(text.replace(/\s*<style>.*?<\/style>/s, '').replaceAll(/<!--.*?-->\s*/gs, '')).trim();
  return { name, svg, style: `#picture-${name} {\n${own(inner)}\n}\n` };
}

/** The attributes that say how large a PNG is: its header has that at a fixed place (RFC 2083 §4.1.1). */
export function sizeOf(source: string): string {
  const bytes = readFileSync(join(root, source));
  return ` width="${bytes.readUInt32BE(16)}" height="${bytes.readUInt32BE(20)}"`;
}

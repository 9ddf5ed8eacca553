/** A Markdown table. Replaces bars and line breaks in cells, which would end the cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(headings), `|${headings.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

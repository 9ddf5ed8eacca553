/** A Markdown table. Cells hold Markdown; a bar or a line break in them would end the cell, so both are replaced. */
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

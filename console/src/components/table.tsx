import type { ComponentChildren } from 'preact';

export type Column<Row> = {
  title: string;
  cell(row: Row): ComponentChildren;
  /**
   * `number`: aligned at the right. `name`: leads the card on a narrow screen. `actions`, `choice`: buttons or a
   * checkbox, without a title.
   */
  kind?: 'number' | 'name' | 'actions' | 'choice';
};

type TableProps<Row> = {
  /** The name of the table for screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
};

/** A table where there is room; on a narrow screen each row is a card with the titles next to the values. */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  // Explicit roles: without table layout, some browsers drop the implicit ones.
  return (
    <table class="table" role="table">
      <caption class="hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, kind }) => (
            <th key={title} role="columnheader" scope="col" class={kind ?? ''}>
              {kind === 'actions' || kind === 'choice' ? <span class="hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ title, kind, cell }) => (
              <td key={title} role="cell" class={kind ?? ''} data-title={title}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

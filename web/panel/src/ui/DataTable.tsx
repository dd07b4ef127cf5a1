import { Table, Text } from "@mantine/core";
import type { ReactNode } from "react";

import classes from "./DataTable.module.css";

export interface Column<T> {
  key: string;
  label: string;
  render: (row: T) => ReactNode;
  /** Numbers and money. */
  right?: boolean;
  /** What the row is about, in more than a few words: on a phone it heads the card, without its label. */
  title?: boolean;
  /** The column of buttons: its label is for screen readers only. */
  actions?: boolean;
}

/** A table with a caption for screen readers. On a phone each row becomes a card, whose values keep their labels. */
export function DataTable<T>({
  caption,
  columns,
  rows,
  rowKey,
  instead,
}: {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string | number;
  /** What stands in place of a row, such as the form that edits it; null for all others. */
  instead?: (row: T) => ReactNode;
}) {
  return (
    <Table className={classes.table} verticalSpacing="sm" highlightOnHover>
      <caption className="visually-hidden">{caption}</caption>
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Table.Th key={column.key} ta={column.right || column.actions ? "right" : undefined} scope="col">
              {column.actions ? <span className="visually-hidden">{column.label}</span> : column.label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => {
          const other = instead?.(row);
          if (other)
            return (
              <Table.Tr key={rowKey(row)}>
                <Table.Td colSpan={columns.length} className={classes.whole}>
                  {other}
                </Table.Td>
              </Table.Tr>
            );
          return (
            <Table.Tr key={rowKey(row)}>
              {columns.map((column) => (
                <Table.Td
                  key={column.key}
                  ta={column.right || column.actions ? "right" : undefined}
                  className={column.actions ? classes.actions : column.title ? classes.title : undefined}
                >
                  {!column.actions && !column.title && (
                    <Text span className={classes.label} aria-hidden>
                      {column.label}
                    </Text>
                  )}
                  <div className={classes.value}>{column.render(row)}</div>
                </Table.Td>
              ))}
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}

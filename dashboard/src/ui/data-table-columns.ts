/** Columns of a DataTable, and how they become columns of TanStack Table. */
import {
  createSortedRowModel,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures,
  type ColumnDef,
} from '@tanstack/react-table'
import { type ReactNode } from 'react'

export const TABLE_FEATURES = tableFeatures({
  rowSelectionFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
})
export type TableFeatures = typeof TABLE_FEATURES

export interface DataColumn<Row> {
  id: string
  header: string
  cell: (row: Row) => ReactNode
  /** CSS width: `8rem`, `20%`. Columns without share the rest. */
  width?: string | undefined
  align?: 'left' | 'right' | undefined
  /** 1: always shown; 2: from 36rem of the table's width; 3: from 56rem. */
  priority?: 1 | 2 | 3 | undefined
  /** Sorts by this value in the browser. With `onSortChange` of the table, the caller sorts. */
  sortValue?: ((row: Row) => string | number | null) | undefined
  /** The caller can sort by this column. */
  isSortable?: boolean | undefined
  isHeaderHidden?: boolean | undefined
}

export interface TableSort {
  columnId: string
  isDescending: boolean
}

type SortValue = string | number | null | undefined

/** Unknown values come first. */
function compareValues(a: SortValue, b: SortValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : -1
  if (b === null || b === undefined) return 1
  return String(a).localeCompare(String(b), undefined, { numeric: true })
}

export function toColumnDefs<Row extends object>(columns: readonly DataColumn<Row>[]): ColumnDef<TableFeatures, Row>[] {
  return columns.map((column) => ({
    id: column.id,
    accessorFn: (row: Row) => column.sortValue?.(row) ?? null,
    enableSorting: column.isSortable === true || column.sortValue !== undefined,
    sortFn: (a, b) => compareValues(column.sortValue?.(a.original), column.sortValue?.(b.original)),
    sortDescFirst: false,
  }))
}

const HIDDEN = { 1: '', 2: 'hidden @xl:table-cell', 3: 'hidden @4xl:table-cell' }

/** Classes of the cells of a column. */
export function columnClass<Row>(column: DataColumn<Row>): string {
  const align = column.align === 'right' ? 'text-right' : 'text-left'
  return `${HIDDEN[column.priority ?? 1]} ${align}`
}

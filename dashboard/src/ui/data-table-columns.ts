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
  /** For a column of buttons: its width stays in a narrow table. */
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

/** What fixed columns may take of a narrow table together, in percent: the others need room for a name. */
const FIXED_SHARE = 55
/** What the first column has at least, if there is so much. */
const NAME_REM = 12
const REM = /^([\d.]+)rem$/

/**
 * The CSS width of each column. In a table too narrow for them, columns with a width in rem shrink in proportion, and
 * the first one has room for a name. Columns of buttons do not shrink: a button that is cut off cannot be pressed.
 * Columns that a narrow table hides do not count.
 */
export function columnWidths<Row>(columns: readonly DataColumn<Row>[]): (string | undefined)[] {
  const remOf = ({ width = '' }: DataColumn<Row>): number => Number(REM.exec(width)?.[1] ?? 0)
  const shown = columns.filter(({ priority = 1, isHeaderHidden }) => priority === 1 && isHeaderHidden !== true)
  const total = shown.reduce((sum, column) => sum + remOf(column), 0)
  const canShrink = shown.some((column) => remOf(column) === 0)
  return columns.map((column) => {
    const rem = remOf(column)
    if (column === columns[0] && column.width?.endsWith('%') === true)
      return `max(${column.width}, min(${100 - FIXED_SHARE}cqw, ${NAME_REM}rem))`
    if (!canShrink || rem === 0 || !shown.includes(column)) return column.width
    return `min(${column.width}, ${((rem / total) * FIXED_SHARE).toFixed(1)}cqw)`
  })
}

const HIDDEN = { 1: '', 2: 'hidden @xl:table-cell', 3: 'hidden @4xl:table-cell' }

/** Classes of the cells of a column. */
export function columnClass<Row>(column: DataColumn<Row>): string {
  const align = column.align === 'right' ? 'text-right' : 'text-left'
  return `${HIDDEN[column.priority ?? 1]} ${align}`
}

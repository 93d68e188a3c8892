/**
 * A table of things: sorted, selected and opened with pointer or keys (j and k or the arrows move, Enter opens, x
 * selects). Long lists render only the rows near the visible part, in the page or, with `height`, in a box of their
 * own. Less important columns disappear where the table is narrow.
 */
import { useTable } from '@tanstack/react-table'
import { useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import { BulkBar } from './bulk-bar.tsx'
import { cx } from './class-names.ts'
import { TABLE_FEATURES, toColumnDefs, type DataColumn, type TableSort } from './data-table-columns.ts'
import { DataTableHead } from './data-table-head.tsx'
import { DataTableRow } from './data-table-row.tsx'
import { SkeletonRows, TableFooter } from './data-table-states.tsx'
import { useUiTexts } from './ui-texts.ts'
import { useVirtualRows } from './use-virtual-rows.ts'

export interface DataTableProps<Row extends object> {
  /** The name of the table. */
  label: string
  columns: readonly DataColumn<Row>[]
  /** null: loading for the first time. */
  rows: readonly Row[] | null
  getRowId: (row: Row) => string
  /** The page of a row. */
  getHref?: ((row: Row) => string | undefined) | undefined
  /** Opens a row in place, as in a drawer, instead of its page. */
  onOpen?: ((row: Row) => void) | undefined
  currentId?: string | undefined
  sort?: TableSort | null | undefined
  /** The caller sorts. Without it, columns with `sortValue` sort in the browser. */
  onSortChange?: ((sort: TableSort | null) => void) | undefined
  /** Ids; set both to show checkboxes. */
  selectedIds?: readonly string[] | undefined
  onSelectionChange?: ((ids: string[]) => void) | undefined
  bulkActions?: ReactNode
  /** Called when the end comes near and more can be loaded. */
  onEndReached?: (() => void) | undefined
  hasMore?: boolean | undefined
  isLoadingMore?: boolean | undefined
  /** Height of the box in which the rows scroll; without it they scroll with the page. */
  height?: string | undefined
  isDense?: boolean | undefined
  empty?: ReactNode
  error?: ReactNode
}

const MOVES: Record<string, number> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }

function useTableModel<Row extends object>(props: DataTableProps<Row>) {
  const { columns, rows, getRowId, onSortChange, selectedIds, onSelectionChange } = props
  const [ownSort, setOwnSort] = useState<TableSort | null>(props.sort ?? null)
  const sort = onSortChange === undefined ? ownSort : (props.sort ?? null)
  const defs = useMemo(() => toColumnDefs(columns), [columns])
  const data = useMemo(() => [...(rows ?? [])], [rows])
  const rowSelection = useMemo(
    () => Object.fromEntries((selectedIds ?? []).map((id) => [id, true as const])),
    [selectedIds],
  )
  const sorting = useMemo(() => (sort === null ? [] : [{ id: sort.columnId, desc: sort.isDescending }]), [sort])
  const table = useTable({
    features: TABLE_FEATURES,
    columns: defs,
    data,
    getRowId,
    manualSorting: onSortChange !== undefined,
    state: { rowSelection, sorting },
    enableRowSelection: onSelectionChange !== undefined,
    onRowSelectionChange: (updater) => {
      const next = typeof updater === 'function' ? updater(rowSelection) : updater
      onSelectionChange?.(Object.keys(next))
    },
  })
  function toggleSort(columnId: string): void {
    const next =
      sort?.columnId !== columnId
        ? { columnId, isDescending: false }
        : sort.isDescending
          ? null
          : { columnId, isDescending: true }
    if (onSortChange === undefined) setOwnSort(next)
    else onSortChange(next)
  }
  const models = table.getRowModel().rows
  const selection = {
    isAll: models.length > 0 && table.getIsAllRowsSelected(),
    isSome: table.getIsSomeRowsSelected(),
    onToggleAll: (isSelected: boolean) => table.toggleAllRowsSelected(isSelected),
  }
  return { rows: models, sort, toggleSort, selection }
}

/** One cell only: more would bring back the columns that are hidden. */
function Spacer({ height }: { height: number }) {
  if (height === 0) return null
  return (
    <tr aria-hidden="true">
      <td style={{ height, padding: 0 }} />
    </tr>
  )
}

type Model<Row extends object> = ReturnType<typeof useTableModel<Row>>

interface BodyProps<Row extends object> {
  props: DataTableProps<Row>
  model: Model<Row>
  shown: readonly number[]
  active: number
  onActive: (index: number) => void
  before: number
  after: number
  measure: ((row: Element | null) => void) | undefined
}

function Body<Row extends object>(body: BodyProps<Row>) {
  const { props, model, shown, active, onActive, before, after, measure } = body
  const { columns, getHref, onOpen, currentId, isDense = false } = props
  const hasSelection = props.onSelectionChange !== undefined
  const tabStop = shown.includes(active) ? active : (shown[0] ?? 0)
  return (
    <tbody>
      {props.rows === null && <SkeletonRows columns={columns} hasSelection={hasSelection} />}
      <Spacer height={before} />
      {shown.map((index) => {
        const row = model.rows[index]
        if (row === undefined) return null
        return (
          <DataTableRow
            key={row.id}
            row={row.original}
            columns={columns}
            index={index}
            href={getHref?.(row.original)}
            onOpen={onOpen}
            isCurrent={row.id === currentId}
            isTabStop={index === tabStop}
            isDense={isDense}
            measure={measure}
            onFocusRow={onActive}
            selection={hasSelection ? { isSelected: row.getIsSelected(), onToggle: () => row.toggleSelected() } : null}
          />
        )
      })}
      <Spacer height={after} />
    </tbody>
  )
}

export function DataTable<Row extends object>(props: DataTableProps<Row>) {
  const { columns, rows, height, isDense = false, onSelectionChange, hasMore = false, isLoadingMore = false } = props
  const texts = useUiTexts()
  const box = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(0)
  const model = useTableModel(props)
  const count = model.rows.length
  const isBox = height !== undefined
  const virtual = useVirtualRows({ count, rowHeight: isDense ? 36 : 40, box, isBox })
  const shown = virtual?.rows.map((row) => row.index) ?? model.rows.map((_, index) => index)
  const isEmpty = rows !== null && rows.length === 0

  function move(event: KeyboardEvent): void {
    const step = MOVES[event.key]
    const isInRow = event.target instanceof HTMLElement && event.target.dataset['row'] !== undefined
    if (step === undefined || !isInRow || event.metaKey || event.ctrlKey) return
    event.preventDefault()
    const next = Math.min(Math.max(active + step, 0), count - 1)
    const focus = () => box.current?.querySelector<HTMLElement>(`[data-row="${next.toString()}"]`)?.focus()
    setActive(next)
    if (shown.includes(next)) return focus()
    virtual?.scrollToIndex(next)
    requestAnimationFrame(focus)
  }

  if (props.error !== undefined && props.error !== null) return <>{props.error}</>
  if (isEmpty && props.empty !== undefined) return <>{props.empty}</>
  return (
    <div className="min-w-0">
      <div ref={box} className={cx('@container', isBox && 'overflow-y-auto')} style={{ height }}>
        <table
          role="grid"
          aria-label={props.label}
          aria-rowcount={rows === null || hasMore ? -1 : count + 1}
          aria-multiselectable={onSelectionChange !== undefined || undefined}
          aria-busy={rows === null || isLoadingMore}
          onKeyDown={move}
          className="w-full table-fixed border-collapse"
        >
          <DataTableHead
            columns={columns}
            sort={model.sort}
            onSort={model.toggleSort}
            isInBox={isBox}
            selection={onSelectionChange === undefined ? null : model.selection}
          />
          <Body
            props={props}
            model={model}
            shown={shown}
            active={active}
            onActive={setActive}
            before={virtual?.before ?? 0}
            after={virtual?.after ?? 0}
            measure={virtual?.measure}
          />
        </table>
        <TableFooter hasMore={hasMore} isLoadingMore={isLoadingMore} onEndReached={props.onEndReached} />
      </div>
      {isEmpty && <p className="px-3 py-8 text-center text-muted">{texts.noResults}</p>}
      {onSelectionChange !== undefined && props.bulkActions !== undefined && (
        <BulkBar count={props.selectedIds?.length ?? 0} onClear={() => onSelectionChange([])}>
          {props.bulkActions}
        </BulkBar>
      )}
    </div>
  )
}

import { ArrowDown, ArrowUp, ChevronsUpDown } from './icons.tsx'
import { Checkbox } from './checkbox.tsx'
import { cx } from './class-names.ts'
import { columnClass, columnWidths, type DataColumn, type TableSort } from './data-table-columns.ts'
import { useUiTexts } from './ui-texts.ts'

interface HeadCellProps<Row> {
  column: DataColumn<Row>
  width: string | undefined
  sort: TableSort | null
  onSort: (columnId: string) => void
}

function HeadCell<Row>({ column, width, sort, onSort }: HeadCellProps<Row>) {
  const isSortable = column.isSortable === true || column.sortValue !== undefined
  const isSorted = sort?.columnId === column.id
  const Icon = !isSorted ? ChevronsUpDown : sort.isDescending ? ArrowDown : ArrowUp
  return (
    <th
      scope="col"
      style={width === undefined ? undefined : { width }}
      aria-sort={isSorted ? (sort.isDescending ? 'descending' : 'ascending') : undefined}
      className={cx('h-9 px-2 text-xs font-medium text-muted @xl:px-3', columnClass(column))}
    >
      {isSortable ? (
        <button
          type="button"
          onClick={() => onSort(column.id)}
          className={cx(
            'group -mx-1 inline-flex h-6 max-w-full items-center gap-1 rounded-sm px-1 hover:text-ink',
            column.align === 'right' && 'flex-row-reverse',
          )}
        >
          <span className="truncate">{column.header}</span>
          <Icon
            size={12}
            aria-hidden="true"
            className={cx('shrink-0', !isSorted && 'opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100')}
          />
        </button>
      ) : (
        <span
          className={cx(
            column.isHeaderHidden === true ? 'sr-only' : 'block truncate hyphens-auto @max-xl:whitespace-normal',
          )}
        >
          {column.header}
        </span>
      )}
    </th>
  )
}

export interface DataTableHeadProps<Row> extends Omit<HeadCellProps<Row>, 'column' | 'width'> {
  columns: readonly DataColumn<Row>[]
  selection: { isAll: boolean; isSome: boolean; onToggleAll: (isSelected: boolean) => void } | null
  isInBox: boolean
}

/** The head of a DataTable; it stays visible while the rows scroll. */
export function DataTableHead<Row>({ columns, sort, onSort, selection, isInBox }: DataTableHeadProps<Row>) {
  const texts = useUiTexts()
  const widths = columnWidths(columns)
  return (
    <thead
      className={cx(
        'sticky z-10 bg-surface shadow-[inset_0_-1px_0_var(--border)]',
        isInBox ? 'top-0' : 'top-(--page-head-height,0px)',
      )}
    >
      <tr>
        {selection !== null && (
          <th scope="col" className="w-10 pl-3">
            <Checkbox
              label={texts.selectAll}
              isLabelHidden
              isChecked={selection.isAll}
              isMixed={selection.isSome && !selection.isAll}
              onChange={selection.onToggleAll}
            />
          </th>
        )}
        {columns.map((column, i) => (
          <HeadCell key={column.id} column={column} width={widths[i]} sort={sort} onSort={onSort} />
        ))}
      </tr>
    </thead>
  )
}

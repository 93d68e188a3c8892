import { type KeyboardEvent, type MouseEvent } from 'react'
import { Checkbox } from './checkbox.tsx'
import { cx } from './class-names.ts'
import { columnClass, type DataColumn } from './data-table-columns.ts'
import { isPlainClick, UiLink, useNavigateTo } from './ui-link.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface DataTableRowProps<Row> {
  row: Row
  columns: readonly DataColumn<Row>[]
  /** From 0. */
  index: number
  href: string | undefined
  onOpen: ((row: Row) => void) | undefined
  /** Opened beside the table. */
  isCurrent: boolean
  isTabStop: boolean
  selection: { isSelected: boolean; onToggle: (event: unknown) => void } | null
  onFocusRow: (index: number) => void
  /** Of a virtual list. */
  measure: ((row: Element | null) => void) | undefined
  isDense: boolean
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, label, [role=menuitem]') !== null
}

/** In a narrow table, and in the row that has the keyboard's focus, nothing is cut off. */
const WHOLE_TEXT =
  '@max-xl:[&_.truncate]:wrap-anywhere @max-xl:[&_.truncate]:whitespace-normal ' +
  'focus-visible:[&_.truncate]:wrap-anywhere focus-visible:[&_.truncate]:whitespace-normal'

/** A row of a DataTable. A click anywhere opens it; its first cell has the real link, for new tabs and for copying. */
export function DataTableRow<Row>(props: DataTableRowProps<Row>) {
  const { row, columns, index, href, onOpen, isCurrent, isTabStop, selection, onFocusRow, isDense } = props
  const texts = useUiTexts()
  const navigate = useNavigateTo()
  const canOpen = href !== undefined || onOpen !== undefined
  function open(): void {
    if (onOpen !== undefined) onOpen(row)
    else if (href !== undefined) navigate(href)
  }
  return (
    <tr
      ref={props.measure}
      data-row={index}
      aria-rowindex={index + 2}
      aria-selected={selection === null ? undefined : selection.isSelected}
      aria-current={isCurrent ? 'true' : undefined}
      tabIndex={isTabStop ? 0 : -1}
      onFocus={() => onFocusRow(index)}
      onClick={(event: MouseEvent) => {
        if (!canOpen || !isPlainClick(event) || isControl(event.target)) return
        if ((getSelection()?.toString() ?? '') === '') open()
      }}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.target !== event.currentTarget) return
        if (event.key === 'Enter' && canOpen) open()
        else if ((event.key === 'x' || event.key === ' ') && selection !== null) selection.onToggle(event)
        else return
        event.preventDefault()
      }}
      className={cx(
        'group border-b border-line last:border-b-0 focus-visible:outline-offset-[-2px]',
        isDense ? 'h-9' : 'h-10',
        'pointer-coarse:h-12',
        WHOLE_TEXT,
        canOpen && 'cursor-pointer',
        isCurrent || selection?.isSelected === true ? 'bg-accent-soft' : 'hover:bg-hover',
      )}
    >
      {selection !== null && (
        <td className="w-10 pl-3">
          <Checkbox
            label={`${texts.selectRow} ${(index + 1).toString()}`}
            isLabelHidden
            isChecked={selection.isSelected}
            onChange={() => selection.onToggle(undefined)}
            tabIndex={isTabStop ? 0 : -1}
          />
        </td>
      )}
      {columns.map((column, at) => (
        <td key={column.id} className={cx('truncate px-2 py-1 @xl:px-3', columnClass(column))}>
          {at === 0 && href !== undefined ? (
            <UiLink
              href={href}
              tabIndex={-1}
              onClick={(event) => {
                if (onOpen === undefined || !isPlainClick(event)) return
                event.preventDefault()
                onOpen(row)
              }}
              className="block truncate font-medium text-ink"
            >
              {column.cell(row)}
            </UiLink>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </tr>
  )
}

import { useEffect, useRef } from 'react'
import { Button } from './button.tsx'
import { cx } from './class-names.ts'
import { columnClass, type DataColumn } from './data-table-columns.ts'
import { Skeleton } from './skeleton.tsx'
import { useUiTexts } from './ui-texts.ts'

/** Rows of a table that loads for the first time. */
export function SkeletonRows<Row>({
  columns,
  hasSelection,
}: {
  columns: readonly DataColumn<Row>[]
  hasSelection: boolean
}) {
  return Array.from({ length: 8 }, (_, row) => (
    <tr key={row} className="h-10 border-b border-line last:border-b-0">
      {hasSelection && <td className="w-10" />}
      {columns.map((column, index) => (
        <td key={column.id} className={cx('px-2 @xl:px-3', columnClass(column))}>
          <Skeleton className={cx('h-3.5', index === 0 ? 'w-3/4' : 'w-1/2', column.align === 'right' && 'ml-auto')} />
        </td>
      ))}
    </tr>
  ))
}

interface TableFooterProps {
  hasMore: boolean
  isLoadingMore: boolean
  onEndReached: (() => void) | undefined
}

/** Loads more when it scrolls into view; a button for keyboards and after failures. */
export function TableFooter({ hasMore, isLoadingMore, onEndReached }: TableFooterProps) {
  const texts = useUiTexts()
  const footer = useRef<HTMLDivElement>(null)
  const load = useRef(onEndReached)
  useEffect(() => {
    load.current = onEndReached
  })
  const canLoad = hasMore && !isLoadingMore
  useEffect(() => {
    if (!canLoad || footer.current === null) return undefined
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting === true) load.current?.()
      },
      { rootMargin: '400px' },
    )
    observer.observe(footer.current)
    return () => observer.disconnect()
  }, [canLoad])
  if (!hasMore || onEndReached === undefined) return null
  return (
    <div ref={footer} className="flex h-12 items-center justify-center border-t border-line">
      <Button variant="ghost" size="sm" isLoading={isLoadingMore} onClick={onEndReached}>
        {texts.loadMore}
      </Button>
    </div>
  )
}

import { cx } from './class-names.ts'
import { useUiTexts } from './ui-texts.ts'

/** A grey bar where something loads. Give it a size by class. */
export function Skeleton({ className }: { className?: string | undefined }) {
  return <span aria-hidden="true" className={cx('block animate-wait rounded-sm bg-line', className ?? 'h-4 w-full')} />
}

const WIDTHS = ['w-11/12', 'w-4/5', 'w-full', 'w-3/5', 'w-10/12']

/** Text that loads. */
export function SkeletonLines({ lines = 3 }: { lines?: number }) {
  const texts = useUiTexts()
  return (
    <div role="status" aria-label={texts.loading} className="flex flex-col gap-2.5">
      {Array.from({ length: lines }, (_, index) => (
        <Skeleton key={index} className={cx('h-3.5', WIDTHS[index % WIDTHS.length])} />
      ))}
    </div>
  )
}

/** A table that loads, outside of DataTable. */
export function SkeletonTable({ rows = 5, columns = 4 }: { rows?: number; columns?: number }) {
  const texts = useUiTexts()
  return (
    <div role="status" aria-label={texts.loading} className="divide-y divide-line">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex h-10 items-center gap-6 px-3">
          {Array.from({ length: columns }, (__, column) => (
            <Skeleton key={column} className={cx('h-3.5', column === 0 ? 'grow' : 'w-16')} />
          ))}
        </div>
      ))}
    </div>
  )
}

import { Fragment, type ReactNode } from 'react'
import { cx } from './class-names.ts'

export interface KeyValueListProps {
  items: readonly { label: ReactNode; value: ReactNode; key?: string }[]
}

/** Facts about one thing. Labels stand above their values on phones. */
export function KeyValueList({ items }: KeyValueListProps) {
  return (
    <dl
      className={cx(
        'grid gap-x-6 gap-y-1',
        'sm:grid-cols-[minmax(8rem,max-content)_minmax(0,1fr)] sm:items-baseline sm:gap-y-2.5',
      )}
    >
      {items.map((item, index) => (
        <Fragment key={item.key ?? (typeof item.label === 'string' ? item.label : index)}>
          <dt className="text-sm text-muted sm:leading-5">{item.label}</dt>
          <dd className="mb-2 min-w-0 text-ink tabular-nums sm:mb-0">{item.value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

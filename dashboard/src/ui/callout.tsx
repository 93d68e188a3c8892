import { CircleAlert, CircleCheck, Info, TriangleAlert } from './icons.tsx'
import { type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { SOFT } from './tone.ts'

type CalloutTone = 'info' | 'success' | 'warning' | 'danger'

export interface CalloutProps {
  tone?: CalloutTone | undefined
  title?: ReactNode
  children?: ReactNode
  action?: ReactNode
}

const ICONS = { info: Info, success: CircleCheck, warning: TriangleAlert, danger: CircleAlert }

/** What a reader should know before going on. Appears with the page, so it is not announced; use Toast for events. */
export function Callout({ tone = 'info', title, children, action }: CalloutProps) {
  const Icon = ICONS[tone]
  return (
    <div className={cx('flex items-start gap-3 rounded-lg px-4 py-3', SOFT[tone])}>
      <Icon size={16} aria-hidden="true" className="mt-0.5 shrink-0" />
      {/* an action that has no room beside the text is below it */}
      <div className="flex min-w-0 flex-1 flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          {title !== undefined && <p className="font-medium">{title}</p>}
          {children !== undefined && <div className="text-ink">{children}</div>}
        </div>
        {action !== undefined && <div className="shrink-0">{action}</div>}
      </div>
    </div>
  )
}

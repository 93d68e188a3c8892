import type { ReactNode } from 'react'
import type { Connection } from '#dashboard/src/api/changes.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { Tooltip } from '#dashboard/src/ui/tooltip.tsx'

/** Whether the page follows the changes of the server. */
export function ConnectionBadge({ connection }: { readonly connection: Connection }): ReactNode {
  const { shell } = useTexts()
  const [label, text, dot] = {
    connecting: [shell.connecting, shell.connecting, 'bg-line-strong'],
    live: [shell.live, shell.liveExplained, 'bg-success'],
    lost: [shell.connectionLost, shell.connectionLostExplained, 'bg-warning'],
  }[connection] as [string, string, string]
  return (
    <Tooltip text={text}>
      <span
        role="status"
        tabIndex={0}
        className="inline-flex shrink-0 items-center gap-1.5 rounded-sm px-1 text-xs text-muted"
      >
        <span className={cx('size-1.5 rounded-full', dot)} />
        {label}
      </span>
    </Tooltip>
  )
}

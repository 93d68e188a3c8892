import type { ReactNode } from 'react'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'

export function ReceivedTabs({ current }: { readonly current: 'mail' | 'routes' }): ReactNode {
  const { received } = useTexts()
  const path = useWorkspacePath()
  return (
    <LinkTabs
      label={received.title}
      tabs={[
        { href: path('/received'), label: received.mail, isCurrent: current === 'mail' },
        { href: path('/received/routes'), label: received.routes, isCurrent: current === 'routes' },
      ]}
    />
  )
}

import type { ReactNode } from 'react'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'

export function MessageTabs({ current }: { readonly current: 'all' | 'scheduled' }): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  return (
    <LinkTabs
      label={messages.title}
      tabs={[
        { href: path('/messages'), label: messages.all, isCurrent: current === 'all' },
        { href: path('/messages/scheduled'), label: messages.scheduled, isCurrent: current === 'scheduled' },
      ]}
    />
  )
}

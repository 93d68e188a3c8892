import type { ReactNode } from 'react'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'

/** Templates, and the partials they share. */
export function TemplateListTabs({ current }: { readonly current: 'templates' | 'partials' }): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  return (
    <LinkTabs
      label={templates.title}
      tabs={[
        { href: path('/templates'), label: templates.title, isCurrent: current === 'templates' },
        { href: path('/templates/partials'), label: templates.partials, isCurrent: current === 'partials' },
      ]}
    />
  )
}

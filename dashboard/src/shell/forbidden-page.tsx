/** In the place of a page that the role may not see. A link of a colleague leads here; the navigation does not. */
import { Lock } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'

export function ForbiddenPage({ title }: { readonly title: string }): ReactNode {
  const { shell } = useTexts()
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={Lock} title={shell.pageForbidden} text={shell.pageForbiddenText} />
    </>
  )
}

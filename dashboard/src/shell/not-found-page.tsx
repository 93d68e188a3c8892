import type { ReactNode } from 'react'
import { Compass } from '#dashboard/src/ui/icons.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'

export function NotFoundPage(): ReactNode {
  const { shell } = useTexts()
  return (
    <EmptyState
      isPage
      icon={Compass}
      title={shell.pageNotFound}
      text={shell.pageNotFoundText}
      action={<ButtonLink href="/">{shell.toOverview}</ButtonLink>}
    />
  )
}

import type { IconComponent } from './icon.tsx'
import { type ReactNode } from 'react'
import { LinkText } from './link-text.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface EmptyStateProps {
  icon?: IconComponent | undefined
  title: string
  /** What will be here and how it gets here. */
  text?: ReactNode
  action?: ReactNode
  docsHref?: string | undefined
  /** It is the whole page, so its title is the heading. */
  isPage?: boolean
}

/** A place without things yet: it teaches what belongs here. */
export function EmptyState({ icon: Icon, title, text, action, docsHref, isPage = false }: EmptyStateProps) {
  const texts = useUiTexts()
  const Title = isPage ? 'h1' : 'p'
  return (
    <div className="flex flex-col items-center px-6 py-12 text-center">
      {Icon !== undefined && (
        <span className="mb-4 flex size-10 items-center justify-center rounded-lg border border-line bg-surface text-faint">
          <Icon size={20} aria-hidden="true" />
        </span>
      )}
      <Title className="text-lg font-medium text-ink">{title}</Title>
      {text !== undefined && <div className="mt-1 max-w-md text-balance text-muted">{text}</div>}
      {action !== undefined && <div className="mt-4 flex flex-wrap justify-center gap-2">{action}</div>}
      {docsHref !== undefined && (
        <p className="mt-3 text-sm">
          <LinkText href={docsHref}>{texts.documentation}</LinkText>
        </p>
      )}
    </div>
  )
}

import { ChevronRight } from './icons.tsx'
import { type ReactNode } from 'react'
import { UiLink } from './ui-link.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface PageHeaderProps {
  title: ReactNode
  /** A badge beside the title. */
  status?: ReactNode
  description?: ReactNode
  breadcrumbs?: readonly { label: string; href: string }[] | undefined
  actions?: ReactNode
  tabs?: ReactNode
}

/** The head of each page: where it is, what it shows, what one can do. */
export function PageHeader({ title, status, description, breadcrumbs = [], actions, tabs }: PageHeaderProps) {
  const texts = useUiTexts()
  return (
    <header className="mb-6">
      {breadcrumbs.length > 0 && (
        <nav aria-label={texts.breadcrumbs} className="mb-1">
          <ol className="flex flex-wrap items-center gap-1 text-sm text-muted">
            {breadcrumbs.map((crumb) => (
              <li key={crumb.href} className="flex items-center gap-1">
                <UiLink href={crumb.href} className="rounded-xs py-0.5 hover:text-ink">
                  {crumb.label}
                </UiLink>
                <ChevronRight size={12} aria-hidden="true" className="text-faint" />
              </li>
            ))}
          </ol>
        </nav>
      )}
      {/* from tablets on, actions stand beside the title, however long the description is */}
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 md:flex-nowrap">
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1 className="min-w-0 text-xl font-semibold tracking-tight text-ink">{title}</h1>
            {status}
          </div>
          {description !== undefined && <p className="mt-1 max-w-prose text-muted">{description}</p>}
        </div>
        {actions !== undefined && (
          <div className="flex flex-wrap items-center gap-2 md:max-w-2/3 md:shrink-0 md:justify-end">{actions}</div>
        )}
      </div>
      {tabs !== undefined && <div className="mt-4">{tabs}</div>}
    </header>
  )
}

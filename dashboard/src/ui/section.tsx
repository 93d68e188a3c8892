import { useId, type ReactNode } from 'react'
import { cx } from './class-names.ts'

export interface SectionProps {
  title: ReactNode
  description?: ReactNode
  actions?: ReactNode
  /** 2 below the page's title, 3 inside another section. */
  level?: 2 | 3 | undefined
  id?: string | undefined
  children: ReactNode
}

/** A titled part of a page. */
export function Section({ title, description, actions, level = 2, id, children }: SectionProps) {
  const titleId = useId()
  const Heading = level === 2 ? 'h2' : 'h3'
  return (
    <section id={id} aria-labelledby={titleId} className="min-w-0 scroll-mt-20">
      <div className="mb-3 flex flex-wrap items-end justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <Heading id={titleId} className={cx('font-semibold text-ink', level === 2 ? 'text-lg' : 'text-base')}>
            {title}
          </Heading>
          {description !== undefined && <p className="mt-0.5 max-w-prose text-sm text-muted">{description}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </section>
  )
}

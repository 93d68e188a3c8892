import { useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { UiLink } from '#dashboard/src/ui/ui-link.tsx'
import type { NavigationGroup } from './navigation.ts'

interface NavigationListProps {
  readonly groups: readonly NavigationGroup[]
  readonly basePath: string
}

/** The pages as links. The current one is marked, also while a page below it is shown. */
export function NavigationList({ groups, basePath }: NavigationListProps): ReactNode {
  const { shell } = useTexts()
  const { pathname } = useLocation()
  return (
    <nav aria-label={shell.product} className="flex flex-col gap-2.5">
      {groups.map(({ title, items }) => (
        <div key={items[0]?.path ?? ''}>
          {title !== null && <p className="px-2 pb-1 text-xs font-medium text-faint">{title(shell.navigation)}</p>}
          <ul className="flex flex-col gap-px">
            {items.map(({ path, icon: Icon, label }) => {
              const href = basePath + path
              const isCurrent = pathname === href || pathname.startsWith(`${href}/`)
              return (
                <li key={path}>
                  <UiLink
                    href={href}
                    aria-current={isCurrent ? 'page' : undefined}
                    className={cx(
                      'flex h-8 items-center gap-2.5 rounded-md px-2 pointer-coarse:h-11',
                      isCurrent
                        ? 'bg-accent-soft font-medium text-accent-text'
                        : 'text-muted hover:bg-hover hover:text-ink',
                    )}
                  >
                    <Icon size={16} aria-hidden="true" className="shrink-0" />
                    <span className="truncate">{label(shell.navigation)}</span>
                  </UiLink>
                </li>
              )
            })}
          </ul>
        </div>
      ))}
    </nav>
  )
}

import { ExternalLink } from './icons.tsx'
import { cx } from './class-names.ts'
import { UiLink, type UiLinkProps } from './ui-link.tsx'

export interface LinkTextProps extends UiLinkProps {
  /** Opens a new tab and says so with an icon. */
  isExternal?: boolean | undefined
}

/** A link within text. */
export function LinkText({ isExternal = false, className, children, ...rest }: LinkTextProps) {
  return (
    <UiLink
      {...rest}
      {...(isExternal ? { target: '_blank', rel: 'noreferrer' } : {})}
      className={cx(
        'rounded-xs text-accent-text underline decoration-accent/40 underline-offset-3',
        className,
        'hover:decoration-accent',
      )}
    >
      {children}
      {isExternal && <ExternalLink size={12} aria-hidden="true" className="ml-1 inline align-baseline" />}
    </UiLink>
  )
}

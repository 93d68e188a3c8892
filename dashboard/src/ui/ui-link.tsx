/**
 * Links of all components. The app provides its router's behaviour once with `<LinkBehaviour value={navigate}>`; until
 * then, and for other origins, new tabs and modified clicks, the browser follows the link itself.
 */
import { createContext, use, type ComponentProps, type MouseEvent } from 'react'

type Navigate = (href: string) => void

export const LinkBehaviour = createContext<Navigate>((href) => location.assign(href))

export function useNavigateTo(): Navigate {
  return use(LinkBehaviour)
}

export function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
}

export interface UiLinkProps extends ComponentProps<'a'> {
  href: string
}

/** An `<a>` that the router follows if it can. */
export function UiLink({ href, onClick, ...rest }: UiLinkProps) {
  const navigate = use(LinkBehaviour)
  const isInternal = href.startsWith('/') && !href.startsWith('//') && rest.target === undefined
  return (
    <a
      href={href}
      onClick={(event) => {
        onClick?.(event)
        if (event.defaultPrevented || !isInternal || !isPlainClick(event) || rest.download !== undefined) return
        event.preventDefault()
        navigate(href)
      }}
      {...rest}
    />
  )
}

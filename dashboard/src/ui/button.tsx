import type { IconComponent } from './icon.tsx'
import { type ComponentProps, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { Spinner } from './spinner.tsx'
import { type Size } from './tone.ts'
import { UiLink } from './ui-link.tsx'

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger'

const VARIANTS: Record<ButtonVariant, string> = {
  primary: 'border-transparent bg-accent text-accent-contrast hover:bg-accent-hover',
  secondary: 'border-line-strong bg-surface text-ink hover:bg-hover shadow-sm',
  ghost: 'border-transparent bg-transparent text-muted hover:bg-hover hover:text-ink',
  danger: 'border-transparent bg-danger text-danger-contrast hover:bg-danger-hover',
}

const SIZES: Record<Size, string> = {
  sm: 'h-7 px-2.5 gap-1.5 text-sm pointer-coarse:h-9',
  md: 'h-8 px-3 gap-2 text-base pointer-coarse:h-11',
}

export function buttonClass(variant: ButtonVariant, size: Size, more?: string): string {
  return cx(
    'relative inline-flex shrink-0 items-center justify-center rounded-md border font-medium whitespace-nowrap',
    'transition-colors select-none disabled:opacity-50 aria-disabled:opacity-50',
    VARIANTS[variant],
    SIZES[size],
    more,
  )
}

interface ButtonLook {
  variant?: ButtonVariant | undefined
  size?: Size | undefined
  icon?: IconComponent | undefined
  children: ReactNode
}

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'children'>, ButtonLook {
  /** Shows that the action runs; the button keeps its width and focus, and ignores clicks. */
  isLoading?: boolean | undefined
}

export function Button({
  variant = 'secondary',
  size = 'md',
  icon: Icon,
  isLoading = false,
  className,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-busy={isLoading || undefined}
      aria-disabled={isLoading || undefined}
      className={buttonClass(variant, size, className)}
      onClick={(event) => {
        if (isLoading) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {isLoading && (
        <span className="absolute inset-0 flex items-center justify-center">
          <Spinner isDecorative />
        </span>
      )}
      <span className={cx('inline-flex items-center', size === 'sm' ? 'gap-1.5' : 'gap-2', isLoading && 'opacity-0')}>
        {Icon !== undefined && <Icon size={size === 'sm' ? 14 : 16} aria-hidden="true" className="-ml-0.5 shrink-0" />}
        {children}
      </span>
    </button>
  )
}

export interface ButtonLinkProps extends Omit<ComponentProps<'a'>, 'children'>, ButtonLook {
  href: string
}

/** A link that looks like a button: for actions that lead to a page. */
export function ButtonLink({
  variant = 'secondary',
  size = 'md',
  icon: Icon,
  className,
  children,
  ...rest
}: ButtonLinkProps) {
  return (
    <UiLink {...rest} className={buttonClass(variant, size, className)}>
      {Icon !== undefined && <Icon size={size === 'sm' ? 14 : 16} aria-hidden="true" className="-ml-0.5 shrink-0" />}
      {children}
    </UiLink>
  )
}

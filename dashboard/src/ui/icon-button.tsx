import type { IconComponent } from './icon.tsx'
import { type ComponentProps } from 'react'
import { buttonClass, type ButtonVariant } from './button.tsx'
import { Spinner } from './spinner.tsx'
import { type Size } from './tone.ts'
import { Tooltip } from './tooltip.tsx'

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children' | 'aria-label'> {
  label: string
  icon: IconComponent
  variant?: ButtonVariant | undefined
  size?: Size | undefined
  isLoading?: boolean | undefined
  hasTooltip?: boolean | undefined
}

/** A button that shows an icon only. Its label is its name and its tooltip. */
export function IconButton({
  label,
  icon: Icon,
  variant = 'ghost',
  size = 'md',
  isLoading = false,
  hasTooltip = true,
  className,
  ...rest
}: IconButtonProps) {
  const width = size === 'sm' ? 'w-7 px-0! pointer-coarse:w-9' : 'w-8 px-0! pointer-coarse:w-11'
  const button = (
    <button
      type="button"
      {...rest}
      aria-label={label}
      aria-busy={isLoading || undefined}
      className={buttonClass(variant, size, `${width} ${className ?? ''}`)}
    >
      {isLoading ? <Spinner isDecorative /> : <Icon size={size === 'sm' ? 14 : 16} aria-hidden="true" />}
    </button>
  )
  return hasTooltip ? <Tooltip text={label}>{button}</Tooltip> : button
}

import { type ComponentProps } from 'react'
import { cx } from './class-names.ts'

export interface CardProps extends ComponentProps<'div'> {
  /** none: for tables and lists that reach the edge. */
  padding?: 'none' | 'md' | undefined
}

/** A surface with a hairline border. */
export function Card({ padding = 'md', className, ...rest }: CardProps) {
  return (
    <div
      {...rest}
      className={cx(
        'min-w-0 rounded-lg border border-line bg-surface',
        padding === 'md' ? 'p-4 sm:p-5' : 'overflow-clip',
        className,
      )}
    />
  )
}

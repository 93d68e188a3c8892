import type { ReactNode } from 'react'

/** The mark of Mailstead. The name stands beside it, so it needs no text of its own. */
export function Logo({ size = 28 }: { readonly size?: number }): ReactNode {
  return <img src="/assets/icon.svg" alt="" width={size} height={size} />
}

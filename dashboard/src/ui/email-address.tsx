import { Fragment } from 'react'

/**
 * One text, so that it is copied and read as one word. In a narrow table it wraps before the @, and before a dot if its
 * domain has no room; elsewhere the whole address is the tooltip where there is no room.
 */
export function EmailAddress({ address, name }: { address: string; name?: string | null | undefined }) {
  const hasName = name !== undefined && name !== null && name !== ''
  const at = address.includes('@') ? address.lastIndexOf('@') : address.length
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1.5" title={address}>
      {hasName && <span className="max-w-[50%] shrink-0 truncate text-ink">{name}</span>}
      <bdi className={hasName ? 'min-w-0 truncate text-muted' : 'min-w-0 truncate'}>
        {address.slice(0, at)}
        <wbr />
        <span className="@max-xl:inline-block @max-xl:max-w-full">
          {address
            .slice(at)
            .split(/(?=\.)/)
            .map((label, i) => (
              <Fragment key={`${i} ${label}`}>
                {i > 0 && <wbr />}
                {label}
              </Fragment>
            ))}
        </span>
      </bdi>
    </span>
  )
}

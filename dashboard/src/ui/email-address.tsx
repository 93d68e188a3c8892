/**
 * One text, so that it is copied and read as one word. It wraps before the @ in a narrow table; elsewhere the whole
 * address is the tooltip where there is no room.
 */
export function EmailAddress({ address, name }: { address: string; name?: string | null | undefined }) {
  const hasName = name !== undefined && name !== null && name !== ''
  const at = address.lastIndexOf('@')
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1.5" title={address}>
      {hasName && <span className="max-w-[50%] shrink-0 truncate text-ink">{name}</span>}
      <bdi className={hasName ? 'min-w-0 truncate text-muted' : 'min-w-0 truncate'}>
        {at <= 0 ? (
          address
        ) : (
          <>
            {address.slice(0, at)}
            <wbr />
            {address.slice(at)}
          </>
        )}
      </bdi>
    </span>
  )
}

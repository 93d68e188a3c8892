/** One text, so that it is copied and read as one word. The whole address is the tooltip where there is no room. */
export function EmailAddress({ address, name }: { address: string; name?: string | null | undefined }) {
  const hasName = name !== undefined && name !== null && name !== ''
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1.5" title={address}>
      {hasName && <span className="max-w-[50%] shrink-0 truncate text-ink">{name}</span>}
      <bdi className={hasName ? 'min-w-0 truncate text-muted' : 'min-w-0 truncate'}>{address}</bdi>
    </span>
  )
}

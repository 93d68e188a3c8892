/** An address that shortens in its local part, so that the domain stays visible. The title has all of it. */
export function EmailAddress({ address, name }: { address: string; name?: string | null | undefined }) {
  const at = address.lastIndexOf('@')
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1.5" title={address}>
      {name !== undefined && name !== null && name !== '' && (
        <span className="max-w-[50%] shrink-0 truncate text-ink">{name}</span>
      )}
      <bdi className={`flex min-w-0 ${name === undefined || name === null || name === '' ? '' : 'text-muted'}`}>
        <span className={at === -1 ? 'truncate' : 'min-w-6 truncate'}>
          {at === -1 ? address : address.slice(0, at)}
        </span>
        {at !== -1 && <span className="max-w-[85%] shrink-0 truncate">{address.slice(at)}</span>}
      </bdi>
    </span>
  )
}

/** The captured mails, the newest first, with a search field above them. */
import { useEffect, useState, type ReactNode } from 'react'
import type { CapturedEmail, GetCapturedEmailsAnswer } from '#dashboard/src/api/endpoints.ts'
import type { ApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { SearchInput } from '#dashboard/src/ui/search-input.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { UiLink } from '#dashboard/src/ui/ui-link.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'

interface InboxListProps {
  readonly list: ApiList<CapturedEmail, GetCapturedEmailsAnswer>
  readonly currentId: string | undefined
  readonly hrefOf: (id: string) => string
}

const TYPING_MS = 250
const PLACEHOLDERS = [1, 2, 3, 4, 5, 6]

export function InboxList({ list, currentId, hrefOf }: InboxListProps): ReactNode {
  const { inbox, ui } = useTexts()
  const { items, query, hasMore } = list
  return (
    <>
      <div className="sticky top-0 z-10 border-b border-line bg-surface p-2">
        <SearchField isSearching={query.isPlaceholderData} />
      </div>
      {query.isPending ? (
        PLACEHOLDERS.map((one) => (
          <div key={one} className="flex flex-col gap-2 border-b border-line px-3 py-3">
            <Skeleton className="h-4 w-2/3" />
            <Skeleton className="h-3 w-1/2" />
          </div>
        ))
      ) : (
        <ul>
          {items.map((mail) => (
            <li key={mail.id} className="[contain-intrinsic-size:auto_4.25rem] [content-visibility:auto]">
              <Row mail={mail} href={hrefOf(mail.id)} isCurrent={mail.id === currentId} />
            </li>
          ))}
        </ul>
      )}
      {query.isSuccess && items.length === 0 && (
        <p className="px-3 py-8 text-center text-muted">{inbox.nothingFound}</p>
      )}
      {hasMore && (
        <div className="flex justify-center p-3">
          <Button size="sm" isLoading={query.isFetchingNextPage} onClick={() => list.loadMore()}>
            {ui.loadMore}
          </Button>
        </div>
      )}
    </>
  )
}

interface RowProps {
  readonly mail: CapturedEmail
  readonly href: string
  readonly isCurrent: boolean
}

function Row({ mail, href, isCurrent }: RowProps): ReactNode {
  const { mailView } = useTexts()
  const { subject, recipient, received_at: at } = mail
  return (
    <UiLink
      href={href}
      aria-current={isCurrent ? 'true' : undefined}
      className={cx(
        'block min-w-0 border-b border-l-2 border-b-line px-3 py-2.5 focus-visible:outline-offset-[-2px]',
        isCurrent ? 'border-l-accent bg-accent-soft' : 'border-l-transparent hover:bg-hover',
      )}
    >
      <span className="flex min-w-0 items-baseline justify-between gap-2">
        <span className="min-w-0 truncate font-medium text-ink">{subject ?? mailView.noSubject}</span>
        <span className="shrink-0 text-xs text-muted">
          <RelativeTime value={at} />
        </span>
      </span>
      <span className="mt-0.5 block truncate text-sm text-muted">{recipient}</span>
    </UiLink>
  )
}

function SearchField({ isSearching }: { readonly isSearching: boolean }): ReactNode {
  const { inbox } = useTexts()
  const [search, change] = useAddressSearch()
  const current = search['search'] ?? ''
  const [text, setText] = useState(current)
  const settled = useDebounced(text, TYPING_MS)
  useEffect(() => {
    if (settled !== current) change({ search: settled.trim() })
    // only what was typed matters here: a changed address must not be overwritten
  }, [settled]) // eslint-disable-line react-hooks/exhaustive-deps
  return <SearchInput label={inbox.search} value={text} onChange={setText} isSearching={isSearching} />
}

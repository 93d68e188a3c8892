/** The messages to a contact, newest first. */
import type { ReactNode } from 'react'
import { searchEmails } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

export function ContactHistory({ email }: { readonly email: string }): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const canRead = useCan()('mail:read')
  const list = useApiList(
    searchEmails,
    { query: { recipient: email, limit: 50 } },
    { items: ({ data }) => data.emails, nextCursor: ({ data }) => data.next_cursor, isEnabled: canRead },
  )
  if (!canRead) return null
  return (
    <Section title={contacts.history}>
      <Card padding="none">
        <DataTable
          label={contacts.history}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ id }) => id}
          getHref={({ id }) => path(`/messages/${id}`)}
          columns={[
            {
              id: 'subject',
              header: contacts.events['message'] ?? '',
              cell: ({ subject }) => subject || contacts.noSubject,
            },
            { id: 'status', header: contacts.status, width: '8rem', cell: ({ status }) => status },
            {
              id: 'at',
              header: contacts.added,
              isHeaderHidden: true,
              width: '9rem',
              align: 'right',
              priority: 2,
              cell: ({ created_at: at }) => <RelativeTime value={at} />,
            },
          ]}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={<p className="p-6 text-center text-muted">{contacts.noHistory}</p>}
          error={list.query.isError ? <FailedQuery query={list.query} title={contacts.historyNotLoaded} /> : undefined}
        />
      </Card>
    </Section>
  )
}

import { Upload } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { listImports, type ContactImport } from '#dashboard/src/api/endpoints.ts'
import { useApiList } from '#dashboard/src/api/queries.ts'
import { useAudienceChoices } from '#dashboard/src/contact-list/audience-options.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { ContactTabs } from './contact-tabs.tsx'
import { ImportState, STATE_TONES } from './import-progress.tsx'

export function ImportsPage(): ReactNode {
  const { contacts, imports } = useTexts()
  const path = useWorkspacePath()
  const canWrite = useCan()('contacts:write')
  const list = useApiList(
    listImports,
    { query: { limit: 50 } },
    { items: ({ data }) => data.imports, nextCursor: ({ data }) => data.next_cursor },
  )
  const start = (
    <ButtonLink variant="primary" icon={Upload} href={path('/contacts/import')}>
      {imports.wizardTitle}
    </ButtonLink>
  )
  return (
    <>
      <PageHeader
        title={contacts.title}
        description={imports.description}
        tabs={<ContactTabs current="imports" />}
        actions={canWrite ? start : undefined}
      />
      <Card padding="none">
        <DataTable
          label={imports.title}
          columns={useColumns()}
          rows={list.first === undefined ? null : list.items}
          getRowId={({ id }) => id}
          getHref={({ id }) => path(`/contacts/imports/${id}`)}
          hasMore={list.hasMore}
          isLoadingMore={list.query.isFetchingNextPage}
          onEndReached={() => list.loadMore()}
          empty={
            <EmptyState
              icon={Upload}
              title={imports.emptyTitle}
              text={imports.emptyText}
              action={canWrite ? start : undefined}
            />
          }
          error={list.query.isError ? <FailedQuery query={list.query} title={imports.notLoaded} /> : undefined}
        />
      </Card>
    </>
  )
}

function useColumns(): readonly DataColumn<ContactImport>[] {
  const { imports } = useTexts()
  const audiences = useAudienceChoices()
  return [
    {
      id: 'audience',
      header: imports.audience,
      cell: ({ audienceId, dryRun }) => (
        <>
          {audiences.find(({ value }) => value === audienceId)?.label ?? audienceId}{' '}
          {dryRun && <Badge>{imports.trial}</Badge>}
        </>
      ),
    },
    { id: 'state', header: imports.state, width: '9rem', cell: (found) => <ImportState found={found} /> },
    {
      id: 'progress',
      header: imports.progress,
      width: '22%',
      priority: 2,
      cell: ({ progress, status }) => (
        <Progress label={imports.progress} isLabelHidden share={progress} tone={STATE_TONES[status]} />
      ),
    },
    {
      id: 'rows',
      header: imports.rows,
      width: '7rem',
      align: 'right',
      priority: 2,
      cell: ({ rows }) => <NumberText value={rows.read} isExact />,
    },
    {
      id: 'started',
      header: imports.started,
      width: '9rem',
      align: 'right',
      priority: 2,
      cell: ({ createdAt }) => <RelativeTime value={createdAt} />,
    },
  ]
}

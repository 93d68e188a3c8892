/** How receivers are treated now, and what a changed shaping file would do. */
import type { ReactNode } from 'react'
import { adminGetShaping, type ShapedReceiver } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { ShapingEditor } from './shaping-editor.tsx'
import { useResume } from './suspensions.tsx'

export function ShapingPage(): ReactNode {
  const { operator } = useTexts()
  const { shaping: texts } = operator
  const query = useApi(adminGetShaping, {})
  const [resume, dialog] = useResume()
  const columns = useShapedColumns(({ receiver }) => resume(receiver, { receiver }))
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      <div className="flex flex-col gap-8">
        <Section title={texts.now} description={texts.nowText}>
          <Loaded query={query} lines={3}>
            {({ data }) => (
              <PlainTable
                label={texts.now}
                columns={columns}
                rows={data.receivers}
                getRowId={(row) => `${row.receiver} ${row.source} ${row.workspace_id ?? ''} ${row.state}`}
                empty={<EmptyState title={texts.nothingNow} />}
              />
            )}
          </Loaded>
        </Section>
        <Section title={texts.editor} description={texts.editorText}>
          <ShapingEditor />
        </Section>
      </div>
      {dialog}
    </>
  )
}

function useShapedColumns(onResume: (row: ShapedReceiver) => void): readonly DataColumn<ShapedReceiver>[] {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  return [
    { id: 'receiver', header: operator.receiver, cell: ({ receiver }) => receiver, width: '20%' },
    {
      id: 'state',
      header: operator.state,
      cell: ({ state }) => (
        <StatusBadge tone={state === 'suspended' ? 'danger' : 'warning'}>{texts[state]}</StatusBadge>
      ),
      width: '8.5rem',
    },
    { id: 'source', header: operator.source, cell: ({ source }) => source, width: '8rem', priority: 3 },
    {
      id: 'reply',
      header: texts.lastReply,
      cell: ({ connections, reply, rule }) => (
        <span title={reply ?? undefined}>
          {connections === null ? (reply ?? rule ?? '–') : texts.connections(connections)}
        </span>
      ),
      priority: 2,
    },
    {
      id: 'since',
      header: operator.since,
      cell: ({ since }) => <RelativeTime value={since} />,
      width: '9rem',
      priority: 3,
    },
    {
      id: 'until',
      header: texts.triedAgain,
      cell: ({ until }) => (until === null ? '–' : <RelativeTime value={until} />),
      width: '9rem',
      priority: 2,
    },
    {
      id: 'resume',
      header: operator.actions,
      cell: (row) =>
        row.state === 'suspended' && (
          <Button size="sm" onClick={() => onResume(row)}>
            {operator.queue.resume}
          </Button>
        ),
      width: '8rem',
    },
  ]
}

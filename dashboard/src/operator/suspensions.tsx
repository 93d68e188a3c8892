/** What is suspended: by operators, and by replies of receivers. Live. */
import type { ReactNode } from 'react'
import {
  adminListSuspensions,
  adminResume,
  type ReceiverSuspension,
  type Suspension,
} from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useConfirmation, useOperatorAction } from './confirmation.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { useWorkspaceNames } from './workspace-names.ts'

/** Asks, then lets mail go again. */
export function useResume(): [(name: string, filter: Readonly<Record<string, string>>) => void, ReactNode] {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const [ask, dialog] = useConfirmation()
  const resume = useOperatorAction(adminResume, [
    '/admin/suspensions',
    '/admin/shaping',
    '/admin/queue',
    '/admin/deliverability',
  ])
  return [
    (name, filter) =>
      ask({
        title: texts.resumeTitle(name),
        text: texts.resumeText,
        label: texts.resume,
        run: () => resume({ body: filter }),
      }),
    dialog,
  ]
}

export function Suspensions(): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const query = useApi(adminListSuspensions, {})
  const [resume, dialog] = useResume()
  const ownColumns = useOwnColumns(({ kind, subject }) => resume(subject, { [kind]: subject }))
  const replyColumns = useReplyColumns(({ receiver }) => resume(receiver, { receiver }))
  return (
    <Loaded query={query}>
      {({ data }) => (
        <div className="flex flex-col gap-8">
          <Section title={texts.byOperator}>
            <PlainTable
              label={texts.byOperator}
              columns={ownColumns}
              rows={data.suspensions}
              getRowId={({ kind, subject }) => `${kind} ${subject}`}
              empty={<EmptyState title={texts.noSuspensions} text={texts.noSuspensionsText} />}
            />
          </Section>
          <Section title={texts.byReply} description={texts.byReplyText}>
            <PlainTable
              label={texts.byReply}
              columns={replyColumns}
              rows={data.receivers}
              getRowId={(row) => `${row.receiver} ${row.source} ${row.workspace_id ?? ''}`}
              empty={<EmptyState title={texts.noReplies} />}
            />
          </Section>
          {dialog}
        </div>
      )}
    </Loaded>
  )
}

function useOwnColumns(onResume: (row: Suspension) => void): readonly DataColumn<Suspension>[] {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const nameOf = useWorkspaceNames()
  return [
    {
      id: 'subject',
      header: texts.subject,
      cell: ({ kind, subject }) => (kind === 'workspace' ? nameOf(subject) : subject),
    },
    { id: 'kind', header: texts.what, cell: ({ kind }) => <Badge>{operator[kind]}</Badge>, width: '8rem' },
    { id: 'reason', header: operator.reason, cell: ({ reason }) => reason, width: '26%', priority: 2 },
    {
      id: 'since',
      header: operator.since,
      cell: (row) => <RelativeTime value={row.created_at} />,
      width: '9rem',
      priority: 3,
    },
    {
      id: 'until',
      header: operator.until,
      cell: ({ until }) => (until === null ? operator.untilResumed : <RelativeTime value={until} />),
      width: '10rem',
      priority: 2,
    },
    {
      id: 'resume',
      header: operator.actions,
      cell: (row) => (
        <Button size="sm" onClick={() => onResume(row)}>
          {texts.resume}
        </Button>
      ),
      width: '8rem',
    },
  ]
}

function useReplyColumns(onResume: (row: ReceiverSuspension) => void): readonly DataColumn<ReceiverSuspension>[] {
  const { operator } = useTexts()
  const { queue: texts } = operator
  return [
    { id: 'receiver', header: operator.receiver, cell: ({ receiver }) => receiver, width: '18%' },
    { id: 'source', header: operator.source, cell: ({ source }) => source, width: '8rem', priority: 3 },
    {
      id: 'reply',
      header: operator.receivers.lastReply,
      cell: ({ reply, rule }) => (
        <span title={`${rule}: ${reply}`} className="font-mono text-sm">
          {reply === '' ? rule : reply}
        </span>
      ),
      priority: 2,
    },
    { id: 'until', header: operator.until, cell: ({ until }) => <RelativeTime value={until} />, width: '9rem' },
    {
      id: 'resume',
      header: operator.actions,
      cell: (row) => (
        <Button size="sm" onClick={() => onResume(row)}>
          {texts.resume}
        </Button>
      ),
      width: '8rem',
    },
  ]
}

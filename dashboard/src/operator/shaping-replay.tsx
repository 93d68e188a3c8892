import type { ReactNode } from 'react'
import type { AdminReplayShapingAnswer } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { PlainTable } from './loaded.tsx'

type Replay = AdminReplayShapingAnswer['data']
type Change = Replay['changes'][number]
type Decisions = Replay['receivers'][number]

/** What a file would have done with past replies, beside what the file in use did. */
export function ShapingReplay({ replay }: { readonly replay: Replay }): ReactNode {
  const { operator } = useTexts()
  const { shaping: texts } = operator
  const changes: readonly DataColumn<Change>[] = [
    { id: 'receiver', header: operator.receiver, cell: ({ receiver }) => receiver, width: '16%' },
    {
      id: 'reply',
      header: texts.reply,
      cell: ({ reply }) => <code className="font-mono text-xs break-words whitespace-normal">{reply}</code>,
    },
    {
      id: 'count',
      header: texts.replay,
      cell: ({ count }) => <NumberText value={count} />,
      width: '6rem',
      align: 'right',
      priority: 2,
    },
    { id: 'before', header: texts.before, cell: ({ before }) => before ?? texts.noRule, width: '16%' },
    { id: 'after', header: texts.after, cell: ({ after }) => after ?? texts.noRule, width: '16%' },
  ]
  const decisions: readonly DataColumn<Decisions>[] = [
    { id: 'receiver', header: operator.receiver, cell: ({ receiver }) => receiver, width: '22%' },
    {
      id: 'before',
      header: texts.before,
      cell: ({ before }) => <span className="whitespace-normal">{texts.counts(before)}</span>,
    },
    {
      id: 'after',
      header: texts.after,
      cell: ({ after }) => <span className="whitespace-normal">{texts.counts(after)}</span>,
    },
  ]
  return (
    <div className="flex flex-col gap-6" role="status">
      <Section level={3} title={texts.changes} description={texts.replies(String(replay.replies))}>
        <PlainTable
          label={texts.changes}
          columns={changes}
          rows={replay.changes}
          getRowId={(row) => `${row.receiver} ${row.reply}`}
          empty={<p className="px-4 py-3 text-muted">{texts.noChange}</p>}
        />
      </Section>
      {replay.receivers.length > 0 && (
        <Section level={3} title={texts.decisions}>
          <PlainTable
            label={texts.decisions}
            columns={decisions}
            rows={replay.receivers}
            getRowId={({ receiver }) => receiver}
          />
        </Section>
      )}
    </div>
  )
}

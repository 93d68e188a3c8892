/** One review of suppressions: its progress, live, who requested it, and what it found. Replies are untrusted text. */
import { useParams } from '@tanstack/react-router'
import { Eraser, ShieldCheck } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import {
  adminGetSuppressionReview,
  type SuppressionReview,
  type WrongSuppression,
} from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { useConfirmation } from './confirmation.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { ReviewProgress, ReviewState } from './review-progress.tsx'
import { useStartReview } from './start-review-dialog.tsx'
import { useWorkspaceNames } from './workspace-names.ts'

type Review = SuppressionReview['data']

export function ReviewPage(): ReactNode {
  const { id = '' } = useParams({ strict: false })
  const { suppressionReviews: texts } = useTexts()
  const query = useApi(adminGetSuppressionReview, { params: { id } })
  const review = query.data?.data
  return (
    <>
      <PageHeader
        title={texts.one}
        status={review === undefined ? undefined : <ReviewState state={review.state} />}
        breadcrumbs={[{ label: texts.title, href: operatorPath('/reviews') }]}
        actions={review === undefined ? undefined : <RemoveButton review={review} />}
      />
      {query.error?.status === 404 ? (
        <EmptyState
          title={texts.gone}
          text={texts.goneText}
          action={<ButtonLink href={operatorPath('/reviews', { dialog: 'start' })}>{texts.start}</ButtonLink>}
        />
      ) : (
        <Loaded query={query}>{({ data }) => <ReviewDetails review={data} />}</Loaded>
      )}
    </>
  )
}

/** What a review has listed can be removed by another one, which checks again. */
function RemoveButton({ review }: { readonly review: Review }): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  const [ask, dialog] = useConfirmation()
  const start = useStartReview()
  if (review.lift || review.state !== 'done' || review.count === 0) return null
  const confirm = (): void =>
    ask({
      title: texts.removeTitle,
      text: texts.removeText(review.count),
      label: texts.remove,
      isDanger: true,
      run: () => start(true),
    })
  return (
    <>
      <Button variant="danger" icon={Eraser} onClick={confirm}>
        {texts.remove}
      </Button>
      {dialog}
    </>
  )
}

function ReviewDetails({ review }: { readonly review: Review }): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  const { state, lift, checked, count, ended_at: endedAt } = review
  return (
    <div className="flex flex-col gap-8">
      {state === 'waiting' && (
        <Callout tone="info" title={texts.waitingTitle}>
          {texts.waitingText}
        </Callout>
      )}
      <Card>
        <div className="flex flex-col gap-4">
          <ReviewProgress review={review} />
          {state !== 'done' && <p className="text-sm text-muted">{texts.mayLeave}</p>}
          <KeyValueList
            items={[
              { label: texts.by, value: <span className="break-words">{review.requested_by ?? texts.unknown}</span> },
              { label: texts.requested, value: <DateTime value={review.requested_at} /> },
              { label: texts.ended, value: endedAt === null ? '–' : <DateTime value={endedAt} /> },
              { label: texts.mode, value: texts.modes[lift ? 'lift' : 'list'] },
              { label: texts.checkedCount, value: <NumberText value={checked} isExact /> },
              { label: lift ? texts.removed : texts.found, value: <NumberText value={count} isExact /> },
            ]}
          />
        </div>
      </Card>
      <Section title={lift ? texts.removed : texts.found}>
        <Mistakes review={review} />
      </Section>
    </div>
  )
}

function Mistakes({ review }: { readonly review: Review }): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  const columns = useMistakeColumns()
  const { state, count, entries } = review
  const isDone = state === 'done'
  return (
    <>
      {count > entries.length && <p className="mb-2 text-sm text-muted">{texts.shown(entries.length, count)}</p>}
      <PlainTable
        label={texts.found}
        columns={columns}
        rows={entries}
        getRowId={(row) => `${row.workspace_id} ${row.email}`}
        empty={
          <EmptyState
            icon={ShieldCheck}
            title={isDone ? texts.allRight : texts.noMistakes}
            text={isDone ? texts.allRightText : texts.noMistakesText}
          />
        }
      />
    </>
  )
}

function useMistakeColumns(): readonly DataColumn<WrongSuppression>[] {
  const { suppressionReviews: texts } = useTexts()
  const nameOf = useWorkspaceNames()
  return [
    { id: 'address', header: texts.address, cell: ({ email }) => <EmailAddress address={email} /> },
    {
      id: 'workspace',
      header: texts.workspace,
      cell: (row) => <span className="truncate text-muted">{nameOf(row.workspace_id)}</span>,
      width: '16%',
      priority: 3,
    },
    { id: 'rule', header: texts.rule, cell: ({ rule }) => rule, width: '12rem', priority: 3 },
    { id: 'class', header: texts.class, cell: (row) => row.class, width: '9rem' },
    {
      id: 'reply',
      header: texts.reply,
      cell: ({ reply }) => <span title={reply}>{reply}</span>,
      width: '30%',
      priority: 2,
    },
  ]
}

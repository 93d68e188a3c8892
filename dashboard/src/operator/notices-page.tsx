/** Problems that only the operator can solve. Live. */
import { BellOff, Check } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminAcknowledgeNotice, adminListNotices, type Notice } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApiList } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useTimedText } from '#dashboard/src/texts/use-server-text.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useConfirmation, useOperatorAction } from './confirmation.tsx'

export function NoticesPage(): ReactNode {
  const { administration, ui } = useTexts()
  const { notices: texts } = administration
  const [search, changeSearch] = useAddressSearch()
  const [ask, dialog] = useConfirmation()
  const acknowledgeAll = useOperatorAction(adminAcknowledgeNotice, ['/admin/notices'])
  const state = search['state'] === 'all' ? 'all' : 'open'
  const list = useApiList(
    adminListNotices,
    { query: { state, limit: 50 } },
    { items: ({ data }) => data.notices, nextCursor: ({ data }) => data.next_cursor, keepsPrevious: true },
  )
  const confirmAll = (): void =>
    ask({
      title: texts.allTitle,
      text: texts.allText,
      label: texts.acknowledgeAll,
      run: () => acknowledgeAll({ body: { all: true } }),
    })
  const hasOpen = list.items.some((notice) => notice.acknowledged_at === null)
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={hasOpen ? <Button onClick={confirmAll}>{texts.acknowledgeAll}</Button> : undefined}
      />
      <div className="mb-4">
        <SegmentedControl
          label={texts.filter}
          value={state}
          onChange={(value) => changeSearch({ state: value === 'all' ? value : undefined })}
          segments={[
            { value: 'open', label: texts.open },
            { value: 'all', label: texts.all },
          ]}
        />
      </div>
      <Card padding={list.query.isPending ? 'md' : 'none'}>
        {list.query.isPending && <SkeletonLines lines={6} />}
        <FailedQuery query={list.query} title={administration.notices.title} />
        {list.query.isSuccess && list.items.length === 0 && (
          <EmptyState icon={BellOff} title={texts.empty} text={texts.emptyText} />
        )}
        <ul className="divide-y divide-line">
          {list.items.map((notice) => (
            <NoticeItem key={notice.id} notice={notice} />
          ))}
        </ul>
        {list.hasMore && (
          <div className="border-t border-line p-3 text-center">
            <Button onClick={list.loadMore} isLoading={list.query.isFetchingNextPage}>
              {ui.loadMore}
            </Button>
          </div>
        )}
      </Card>
      {dialog}
    </>
  )
}

function NoticeItem({ notice }: { readonly notice: Notice }): ReactNode {
  const { administration } = useTexts()
  const { notices: texts } = administration
  const say = useTimedText()
  const acknowledge = useAction(adminAcknowledgeNotice, { invalidates: ['/admin/notices'] })
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 px-4 py-3">
      <div className="flex min-w-0 flex-1 basis-80 flex-col gap-1">
        <div className="flex flex-wrap items-center gap-2">
          <Badge tone={notice.acknowledged_at === null ? 'warning' : 'neutral'}>{texts.kinds[notice.kind]}</Badge>
          <h2 className="min-w-0 font-medium break-words text-ink">{notice.subject}</h2>
        </div>
        <p className="break-words whitespace-pre-line">{say(notice.text, notice.text_translation)}</p>
        <p className="text-sm text-muted">
          {texts.times(notice.count)} · {texts.lastSeen} <RelativeTime value={notice.last_seen} />
          {notice.acknowledged_by !== null && ` · ${texts.acknowledgedBy(notice.acknowledged_by)}`}
        </p>
      </div>
      {notice.acknowledged_at === null && (
        <Button
          size="sm"
          icon={Check}
          isLoading={acknowledge.isPending}
          onClick={() => acknowledge.mutate({ body: { id: notice.id } })}
        >
          {texts.acknowledge}
        </Button>
      )}
    </li>
  )
}

/**
 * The sandbox inbox: mail that the built-in receiver stored instead of delivering it. A list beside the chosen mail, as
 * in a mail program; new mail appears by itself. j and k go through the list.
 */
import { useParams } from '@tanstack/react-router'
import { MailOpen, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { deleteCapturedEmails, getCapturedEmails, getChecklist } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { TwoPane } from '#dashboard/src/ui/two-pane.tsx'
import { useNavigateTo } from '#dashboard/src/ui/ui-link.tsx'
import { useHotkeys } from '#dashboard/src/ui/use-hotkeys.ts'
import { CapturedMail } from './captured-mail.tsx'
import { HowToCapture } from './how-to-capture.tsx'
import { InboxList } from './inbox-list.tsx'

const PAGE_SIZE = 50

export function InboxPage(): ReactNode {
  const { inbox } = useTexts()
  const can = useCan()
  const { id }: { readonly id?: string } = useParams({ strict: false })
  const path = useWorkspacePath()
  const navigate = useNavigateTo()
  const [search] = useAddressSearch()
  const text = search['search'] ?? ''
  const [isDeleting, setDeleting] = useState(false)
  const list = useApiList(
    getCapturedEmails,
    { query: { limit: PAGE_SIZE, ...(text === '' ? {} : { search: text }) } },
    {
      items: (answer) => answer.data.emails,
      nextCursor: (answer) => answer.data.next_cursor,
      keepsPrevious: true,
    },
  )
  const hrefOf = (one: string): string => path(`/inbox/${one}`, search)
  const move = (step: number): void => {
    const at = list.items.findIndex((one) => one.id === id)
    const next = list.items[at === -1 ? 0 : at + step]
    if (next !== undefined) navigate(hrefOf(next.id))
  }
  useHotkeys({ j: () => move(1), k: () => move(-1) })
  const isEmpty = list.query.isSuccess && list.items.length === 0 && text === '' && id === undefined
  return (
    <>
      <PageHeader
        title={inbox.title}
        description={inbox.description}
        actions={
          can('mail:delete') && !isEmpty && list.query.isSuccess ? (
            <Button icon={Trash2} onClick={() => setDeleting(true)}>
              {inbox.deleteAll}
            </Button>
          ) : null
        }
      />
      <LiveNotice />
      {list.query.error !== null && list.first === undefined ? (
        <FailedQuery query={list.query} title={inbox.notLoaded} />
      ) : isEmpty ? (
        <Card>
          <HowToCapture />
        </Card>
      ) : (
        <TwoPane
          listLabel={inbox.list}
          detailLabel={inbox.mail}
          onBack={() => navigate(path('/inbox', search))}
          list={<InboxList list={list} currentId={id} hrefOf={hrefOf} />}
          detail={id === undefined ? null : <CapturedMail key={id} id={id} />}
          placeholder={<EmptyState icon={MailOpen} title={inbox.choose} text={inbox.chooseText} />}
        />
      )}
      {isDeleting && <DeleteAll count={list.first?.data.total ?? 0} onClose={() => setDeleting(false)} />}
    </>
  )
}

/** On a live installation only mail to the capture domain arrives here. */
function LiveNotice(): ReactNode {
  const { inbox } = useTexts()
  const checklist = useApi(getChecklist, {}, { staleMs: 10 * 60_000, isEnabled: useCan()('workspace:read') })
  if (checklist.data?.data.is_sandbox !== false) return null
  return (
    <div className="mb-4">
      <Callout tone="info" title={inbox.isLive}>
        {inbox.isLiveText}
      </Callout>
    </div>
  )
}

function DeleteAll({ count, onClose }: { readonly count: number; readonly onClose: () => void }): ReactNode {
  const { inbox } = useTexts()
  const toast = useToast()
  const path = useWorkspacePath()
  const navigate = useNavigateTo()
  const [error, setError] = useState<string | null>(null)
  const remove = useAction(deleteCapturedEmails, {
    invalidates: ['/public/emails/captured'],
    onSuccess: ({ data }) => {
      toast({ title: inbox.deleted(data.deleted) })
      navigate(path('/inbox'))
      onClose()
    },
    onError: ({ message }) => setError(message),
  })
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      isDanger
      title={inbox.deleteAllTitle}
      text={inbox.deleteAllText(count)}
      confirmLabel={inbox.deleteAll}
      onConfirm={() => remove.mutate({})}
      isLoading={remove.isPending}
      error={error}
    />
  )
}

/** One received mail: its parts, attachments, authentication, spam verdict, and what may be done with it. */
import { useParams } from '@tanstack/react-router'
import { RotateCw, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import {
  deleteReceivedEmail,
  getReceivedEmail,
  getReceivedEmailSource,
  replayReceivedEmail,
  type ReceivedEmail,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { MailHtml } from '#dashboard/src/shared/mail-html.tsx'
import { AttachmentList, HeaderTable, MailSource, PlainText } from '#dashboard/src/shared/mail-parts.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton, SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useNavigateTo } from '#dashboard/src/ui/ui-link.tsx'
import { ReceivedFacts } from './received-facts.tsx'
import { SpamBadge } from './spam-badge.tsx'

const VIEWS = ['html', 'text', 'headers', 'source', 'checks'] as const
type View = (typeof VIEWS)[number]

export function ReceivedMailPage(): ReactNode {
  const { received, mailView } = useTexts()
  const { id = '' } = useParams({ strict: false })
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const answer = useApi(getReceivedEmail, { params: { id } })
  const breadcrumbs = [{ label: received.title, href: path('/received') }]
  const mail = answer.data?.data
  if (mail === undefined)
    return (
      <>
        <PageHeader title={<Skeleton className="h-7 w-64" />} breadcrumbs={breadcrumbs} />
        {answer.error === null ? (
          <SkeletonLines lines={8} />
        ) : (
          <FailedQuery query={answer} title={received.mailNotLoaded} />
        )}
      </>
    )
  const { content } = mail
  const first: View = content === null || content.is_unreadable ? 'source' : content.html === null ? 'text' : 'html'
  const view = VIEWS.find((one) => one === search['view']) ?? first
  return (
    <>
      <PageHeader
        title={mail.subject ?? mailView.noSubject}
        status={<SpamBadge mail={mail} />}
        breadcrumbs={breadcrumbs}
        actions={<Actions mail={mail} />}
        tabs={
          <LinkTabs
            label={received.views}
            tabs={VIEWS.map((one) => ({
              href: path(`/received/${id}`, { view: one }),
              label: received.tabs[one],
              isCurrent: one === view,
            }))}
          />
        }
      />
      <div className="flex min-w-0 flex-col gap-4">
        {content?.is_truncated === true && <Callout tone="warning">{mailView.isTruncated}</Callout>}
        {content !== null && content.attachments.length > 0 && <AttachmentList attachments={content.attachments} />}
        <MailView mail={mail} view={view} />
      </div>
    </>
  )
}

function MailView({ mail, view }: { readonly mail: ReceivedEmail; readonly view: View }): ReactNode {
  const { received, mailView } = useTexts()
  const { content } = mail
  if (view === 'source') return <Source id={mail.id} />
  if (view === 'checks') return <ReceivedFacts mail={mail} />
  if (content === null) return <EmptyState title={received.states[mail.state]} text={received.notParsedText} />
  if (view === 'headers') return <HeaderTable fields={content.headers} />
  if (view === 'text')
    return content.text === null ? <p className="text-muted">{mailView.noText}</p> : <PlainText text={content.text} />
  return content.html === null ? (
    <p className="text-muted">{mailView.noHtml}</p>
  ) : (
    <MailHtml html={content.html} subject={mail.subject ?? ''} />
  )
}

function Source({ id }: { readonly id: string }): ReactNode {
  const { received } = useTexts()
  const input = { params: { id } }
  const source = useApi(getReceivedEmailSource, input, { staleMs: 10 * 60_000 })
  const save = useDownload(getReceivedEmailSource, `${id}.eml`)
  if (source.error !== null) return <FailedQuery query={source} title={received.mailNotLoaded} />
  return <MailSource source={source.data} onDownload={() => save.start(input)} isDownloading={save.isRunning} />
}

function Actions({ mail }: { readonly mail: ReceivedEmail }): ReactNode {
  const { received } = useTexts()
  const mayWrite = useCan()('inbound:write')
  const toast = useToast()
  const path = useWorkspacePath()
  const navigate = useNavigateTo()
  const [isDeleting, setDeleting] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const input = { params: { id: mail.id } }
  const replay = useAction(replayReceivedEmail, { onSuccess: () => toast({ title: received.replayed }) })
  const remove = useAction(deleteReceivedEmail, {
    onSuccess: () => {
      toast({ title: received.mailDeleted })
      navigate(path('/received'))
    },
    onError: ({ message }) => setError(message),
  })
  if (!mayWrite) return null
  return (
    <>
      {mail.content !== null && (
        <Button icon={RotateCw} isLoading={replay.isPending} onClick={() => replay.mutate(input)}>
          {received.replay}
        </Button>
      )}
      <Button icon={Trash2} onClick={() => setDeleting(true)}>
        {received.delete}
      </Button>
      <ConfirmDialog
        isOpen={isDeleting}
        onOpenChange={setDeleting}
        isDanger
        title={received.deleteMailTitle}
        text={received.deleteMailText}
        confirmLabel={received.delete}
        onConfirm={() => remove.mutate(input)}
        isLoading={remove.isPending}
        error={error}
      />
    </>
  )
}

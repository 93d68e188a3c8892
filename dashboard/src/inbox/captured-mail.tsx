/** One captured mail: who sent it to whom, its parts, its source, the verdicts about its sender, and its links. */
import { Send, Trash2 } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import {
  deleteCapturedEmail,
  getCapturedEmail,
  getCapturedEmailRaw,
  type GetCapturedEmailAnswer,
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
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { UiLink, useNavigateTo } from '#dashboard/src/ui/ui-link.tsx'
import { AuthenticationView } from './authentication-view.tsx'
import { parseHeaderFields } from './header-fields.ts'
import { LinkCheck } from './link-check.tsx'
import { judge } from './verdicts.ts'

type Mail = GetCapturedEmailAnswer['data']

const VIEWS = ['html', 'text', 'headers', 'source', 'authentication', 'links'] as const
type View = (typeof VIEWS)[number]

export function CapturedMail({ id }: { readonly id: string }): ReactNode {
  const { inbox } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const answer = useApi(getCapturedEmail, { params: { id } }, { staleMs: 10 * 60_000 })
  if (answer.error !== null) return <FailedQuery query={answer} title={inbox.mailNotLoaded} />
  if (answer.data === undefined)
    return (
      <div className="p-5">
        <SkeletonLines lines={8} />
      </div>
    )
  const mail = answer.data.data
  // a mail without HTML, or one that is too long to be parsed, opens with what it has
  const first: View = mail.html !== null ? 'html' : mail.text !== null ? 'text' : 'source'
  const view = VIEWS.find((one) => one === search['view']) ?? first
  return (
    <article className="flex min-w-0 flex-col gap-4 p-4 sm:p-5">
      <MailHead mail={mail} />
      {mail.attachments !== null && mail.attachments.length > 0 && <AttachmentList attachments={mail.attachments} />}
      {mail.attachments === null && <Callout tone="info">{inbox.tooLong}</Callout>}
      <LinkTabs
        label={inbox.views}
        tabs={VIEWS.map((one) => ({
          href: path(`/inbox/${id}`, { ...search, view: one }),
          label: inbox.tabs[one],
          isCurrent: one === view,
        }))}
      />
      <MailView mail={mail} view={view} />
    </article>
  )
}

function MailHead({ mail }: { readonly mail: Mail }): ReactNode {
  const { inbox, mailView } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigateTo()
  const toast = useToast()
  const can = useCan()
  const [search] = useAddressSearch()
  const { isDmarcPass } = judge(mail)
  const remove = useAction(deleteCapturedEmail, {
    invalidates: ['/public/emails/captured'],
    onSuccess: () => {
      toast({ title: inbox.deleted(1) })
      navigate(path('/inbox', search))
    },
  })
  return (
    <header className="flex min-w-0 flex-col gap-2">
      <div className="flex min-w-0 items-start justify-between gap-3">
        <h2 className="min-w-0 text-lg font-semibold break-words text-ink">{mail.subject ?? mailView.noSubject}</h2>
        <div className="flex shrink-0">
          {mail.email_id !== null && (
            <UiLink
              href={path(`/messages/${mail.email_id}`)}
              aria-label={inbox.openMessage}
              title={inbox.openMessage}
              className="inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink pointer-coarse:size-11"
            >
              <Send size={16} aria-hidden="true" />
            </UiLink>
          )}
          {can('mail:delete') && (
            <IconButton
              icon={Trash2}
              label={inbox.delete}
              isLoading={remove.isPending}
              onClick={() => remove.mutate({ params: { id: mail.id } })}
            />
          )}
        </div>
      </div>
      <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-3 gap-y-0.5 text-sm">
        <dt className="text-muted">{inbox.from}</dt>
        <dd className="break-words text-ink">{mail.from ?? '–'}</dd>
        <dt className="text-muted">{inbox.to}</dt>
        <dd className="break-words text-ink">{mail.recipient}</dd>
        <dt className="text-muted">{inbox.received}</dt>
        <dd className="text-ink">
          <DateTime value={mail.received_at} precision="second" />
        </dd>
      </dl>
      <div className="flex flex-wrap gap-1.5">
        <Badge tone={isDmarcPass ? 'success' : 'danger'}>{isDmarcPass ? inbox.dmarcPass : inbox.dmarcFail}</Badge>
        <Badge tone={mail.tls === null ? 'warning' : 'success'}>{mail.tls?.split(' ')[0] ?? inbox.noTls}</Badge>
      </div>
    </header>
  )
}

function MailView({ mail, view }: { readonly mail: Mail; readonly view: View }): ReactNode {
  const { mailView } = useTexts()
  if (view === 'source') return <Source id={mail.id} />
  if (view === 'authentication') return <AuthenticationView mail={mail} />
  if (view === 'headers') return <HeaderTable fields={parseHeaderFields(mail.headers)} />
  if (view === 'links') return <LinkCheck html={mail.html} />
  if (view === 'text')
    return mail.text === null ? <p className="text-muted">{mailView.noText}</p> : <PlainText text={mail.text} />
  return mail.html === null ? (
    <p className="text-muted">{mailView.noHtml}</p>
  ) : (
    <MailHtml html={mail.html} subject={mail.subject ?? ''} />
  )
}

function Source({ id }: { readonly id: string }): ReactNode {
  const { inbox } = useTexts()
  const input = { params: { id } }
  const source = useApi(getCapturedEmailRaw, input, { staleMs: 10 * 60_000 })
  const save = useDownload(getCapturedEmailRaw, `${id}.eml`)
  if (source.error !== null) return <FailedQuery query={source} title={inbox.mailNotLoaded} />
  return <MailSource source={source.data} onDownload={() => save.start(input)} isDownloading={save.isRunning} />
}

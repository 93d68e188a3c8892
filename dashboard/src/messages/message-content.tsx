/** What a message says: HTML, text, attachments, header fields, source. */
import type { ReactNode } from 'react'
import { getEmailContent, getEmailSource } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { MailHtml } from '#dashboard/src/shared/mail-html.tsx'
import { AttachmentList, HeaderTable, MailSource, PlainText } from '#dashboard/src/shared/mail-parts.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import type { Message } from './message-page.tsx'

interface ViewProps {
  readonly message: Message
}

/** The content of a message does not change, except that of scheduled mail. */
const STALE_MS = 60_000

export function useContent(id: string, isEnabled = true) {
  return useApi(getEmailContent, { params: { id } }, { staleMs: STALE_MS, isEnabled })
}

export function MessageContent({ message }: ViewProps): ReactNode {
  const { messages, mailView } = useTexts()
  const [search, change] = useAddressSearch()
  const content = useContent(message.email_id)
  if (content.error !== null) return <FailedQuery query={content} title={messages.contentNotLoaded} />
  if (content.data === undefined) return <SkeletonLines lines={10} />
  const { html, text, attachments, is_truncated: isTruncated, origin } = content.data.data
  const part = search['part'] === 'text' || html === null ? 'text' : 'html'
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {origin === 'template' && <Callout tone="info">{messages.renderedAgain}</Callout>}
      {isTruncated && <Callout tone="warning">{mailView.isTruncated}</Callout>}
      {attachments !== null && attachments.length > 0 && <AttachmentList attachments={attachments} />}
      {attachments === null && <Callout tone="info">{messages.tooLongToParse}</Callout>}
      {html !== null && (
        <div>
          <SegmentedControl
            label={messages.part}
            value={part}
            onChange={(value) => change({ part: value === 'text' ? 'text' : undefined })}
            segments={[
              { value: 'html', label: mailView.html },
              { value: 'text', label: mailView.text },
            ]}
          />
        </div>
      )}
      {part === 'html' && html !== null && <MailHtml html={html} subject={message.subject} />}
      {part === 'text' &&
        attachments !== null &&
        (text === null ? <p className="text-muted">{mailView.noText}</p> : <PlainText text={text} />)}
    </div>
  )
}

export function MessageHeaders({ message }: ViewProps): ReactNode {
  const { messages } = useTexts()
  const content = useContent(message.email_id)
  if (content.error !== null) return <FailedQuery query={content} title={messages.contentNotLoaded} />
  if (content.data === undefined) return <SkeletonLines lines={10} />
  return (
    <div className="flex flex-col gap-3">
      <p className="text-sm text-muted">{messages.headersExplained}</p>
      <HeaderTable fields={content.data.data.headers} />
    </div>
  )
}

export function MessageSource({ message }: ViewProps): ReactNode {
  const { messages } = useTexts()
  const input = { params: { id: message.email_id } }
  const source = useApi(getEmailSource, input, { staleMs: STALE_MS })
  const save = useSaveSource()
  if (source.error !== null) return <FailedQuery query={source} title={messages.contentNotLoaded} />
  return <MailSource source={source.data} onDownload={() => save.start(input)} isDownloading={save.isRunning} />
}

/** Saves the source of a message as `em_….eml`. */
export function useSaveSource() {
  return useDownload(getEmailSource, ({ params }) => `${params.id}.eml`)
}

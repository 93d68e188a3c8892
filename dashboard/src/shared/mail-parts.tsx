/** Parts of a mail that sent, captured and received mail have alike: header fields, texts, attachments, source. */
import { Download, Paperclip } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { CopyButton } from '#dashboard/src/ui/copy-button.tsx'
import { ByteSize } from '#dashboard/src/ui/numbers.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'

interface HeaderField {
  readonly name: string
  readonly value: string
}

/** Header fields in their order. */
export function HeaderTable({ fields }: { readonly fields: readonly HeaderField[] }): ReactNode {
  const { mailView } = useTexts()
  return (
    <div className="min-w-0 overflow-hidden rounded-lg border border-line bg-surface">
      <div className="flex h-9 items-center justify-between border-b border-line bg-sunken pr-1 pl-3 text-sm text-muted">
        <span className="font-medium">{mailView.headerFields(fields.length)}</span>
        <CopyButton text={fields.map(({ name, value }) => `${name}: ${value}`).join('\n')} />
      </div>
      <dl className="divide-y divide-line">
        {fields.map(({ name, value }, index) => (
          <div key={index} className="grid gap-x-4 px-3 py-1.5 text-sm sm:grid-cols-[14rem_minmax(0,1fr)]">
            <dt className="truncate font-medium text-muted" title={name}>
              {name}
            </dt>
            <dd className="min-w-0 font-mono text-xs leading-5 break-words text-ink">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

interface Attachment {
  readonly filename: string | null
  readonly content_type: string
  readonly size: number
  /** Downloads it; without it, the source has it. */
  readonly url?: string
}

export function AttachmentList({ attachments }: { readonly attachments: readonly Attachment[] }): ReactNode {
  const { mailView } = useTexts()
  return (
    <ul className="flex flex-wrap gap-2" aria-label={mailView.attachments}>
      {attachments.map(({ filename, content_type: type, size, url }, index) => (
        <li
          key={index}
          className="flex max-w-full min-w-0 items-center gap-2 rounded-md border border-line bg-surface py-1.5 pr-2 pl-2.5 text-sm"
        >
          <Paperclip size={14} aria-hidden="true" className="shrink-0 text-faint" />
          <span className="min-w-0">
            <span className="block truncate font-medium text-ink">{filename ?? mailView.unnamedFile}</span>
            <span className="block truncate text-xs text-muted">
              {type} · <ByteSize bytes={size} />
            </span>
          </span>
          {url !== undefined && (
            <ButtonLink size="sm" variant="ghost" icon={Download} href={url} download={filename ?? ''}>
              {mailView.download}
            </ButtonLink>
          )}
        </li>
      ))}
    </ul>
  )
}

interface MailSourceProps {
  /** Undefined while it is loaded. */
  readonly source: string | undefined
  readonly onDownload: () => void
  readonly isDownloading: boolean
}

const MAX_SHOWN = 300_000

/** The mail as it is on the wire; of a long one, the beginning. */
export function MailSource({ source, onDownload, isDownloading }: MailSourceProps): ReactNode {
  const { mailView } = useTexts()
  if (source === undefined) return <SkeletonLines lines={12} />
  const isCut = source.length > MAX_SHOWN
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2 text-sm text-muted">
        <span>{isCut ? mailView.sourceIsCut : mailView.sourceExplained}</span>
        <Button size="sm" icon={Download} isLoading={isDownloading} onClick={onDownload}>
          {mailView.downloadSource}
        </Button>
      </div>
      <CodeBlock
        title={mailView.source}
        text={isCut ? source.slice(0, MAX_SHOWN) : source}
        heightClass="max-h-[70dvh]"
      />
    </div>
  )
}

/** Plain text with its line breaks. */
export function PlainText({ text }: { readonly text: string }): ReactNode {
  const { mailView } = useTexts()
  return <CodeBlock title={mailView.text} text={text} isWrapped heightClass="max-h-[70dvh]" />
}

import type { ReactNode } from 'react'
import type { PreviewBrandingAnswer, PreviewBrandingBody } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { MailFrame } from '#dashboard/src/ui/mail-frame.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'

export type BrandingPreviewPage = PreviewBrandingBody['page']

const PAGES: readonly BrandingPreviewPage[] = [
  'subscribe',
  'thanks',
  'mail',
  'confirm',
  'unsubscribe',
  'unsubscribed',
  'preferences',
]

interface PreviewProps {
  readonly page: BrandingPreviewPage
  readonly onPage: (page: BrandingPreviewPage) => void
  readonly preview: PreviewBrandingAnswer['data'] | undefined
  /** The draft is refused, so there is nothing to show. */
  readonly isRefused: boolean
}

/** A public page, or the mail, as the draft would make it. The frame loads the logo, which this server has. */
export function BrandingPreview({ page, onPage, preview, isRefused }: PreviewProps): ReactNode {
  const { branding: texts } = useTexts()
  return (
    <div className="min-w-0 xl:sticky xl:top-6 xl:self-start">
      <Section
        title={texts.preview}
        actions={
          <Select
            label={texts.previewPage}
            value={page}
            onChange={onPage}
            options={PAGES.map((value) => ({ value, label: texts.pages[value] }))}
            className="w-56"
          />
        }
      >
        {isRefused ? (
          <Callout tone="warning">{texts.previewRefused}</Callout>
        ) : preview === undefined ? (
          <Skeleton className="h-96 w-full" />
        ) : (
          <>
            {preview.subject !== null && <p className="mb-2 truncate text-sm text-muted">{preview.subject}</p>}
            <MailFrame html={preview.html} title={texts.pages[page]} minHeight={384} loadsImages />
          </>
        )}
      </Section>
    </div>
  )
}

/** What a draft looks like: on a desktop, on a phone, in dark mode, without images, and its text part. */
import { ImageOff, Monitor, Moon, Smartphone, Type } from '#dashboard/src/ui/icons.tsx'
import { useMemo, type ReactNode } from 'react'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { MailFrame } from '#dashboard/src/ui/mail-frame.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { Spinner } from '#dashboard/src/ui/spinner.tsx'
import { withoutImages } from './mail-html.ts'
import type { PreviewState } from './use-preview.ts'

const VIEWS = ['desktop', 'phone', 'dark', 'blocked', 'text'] as const
type View = (typeof VIEWS)[number]

const ICONS = { desktop: Monitor, phone: Smartphone, dark: Moon, blocked: ImageOff, text: Type }
const PHONE_WIDTH = 375

export function TemplatePreview({ state }: { readonly state: PreviewState }): ReactNode {
  const { templates } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const view = VIEWS.find((one) => one === search['view']) ?? 'desktop'
  const { preview, error, isRendering, isEmpty } = state
  return (
    <section aria-label={templates.preview} className="flex min-w-0 flex-col gap-3">
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-2">
        <SegmentedControl
          label={templates.preview}
          value={view}
          onChange={(next) => changeSearch({ view: next === 'desktop' ? undefined : next })}
          segments={VIEWS.map((one) => ({
            value: one,
            label: templates.views[one],
            icon: ICONS[one],
            isIconOnly: one !== view,
          }))}
        />
        <span className="flex size-4 items-center">{isRendering && <Spinner />}</span>
      </div>
      {error !== null && (
        <Callout tone="danger" title={templates.notRendered}>
          {error.message}
        </Callout>
      )}
      {isEmpty && <EmptyState icon={Type} title={templates.previewEmpty} text={templates.previewEmptyText} />}
      {!isEmpty && preview === null && error === null && <Skeleton className="h-96 w-full" />}
      {preview !== null && (
        <div className={error === null ? '' : 'opacity-50'}>
          <p className="mb-3 text-sm break-words text-muted">
            {templates.subject}: <span className="font-medium text-ink">{preview.subject}</span>
          </p>
          <PreviewBody preview={preview} view={view} />
        </div>
      )}
    </section>
  )
}

interface PreviewBodyProps {
  readonly preview: NonNullable<PreviewState['preview']>
  readonly view: View
}

function PreviewBody({ preview, view }: PreviewBodyProps): ReactNode {
  const { templates } = useTexts()
  const { html, text, text_is_made: isGenerated } = preview
  const shown = useMemo(() => (html !== null && view === 'blocked' ? withoutImages(html) : html), [html, view])
  if (shown === null || view === 'text')
    return (
      <>
        {isGenerated && <p className="mb-2 text-sm text-muted">{templates.textGenerated}</p>}
        <pre className="max-h-[70dvh] overflow-auto rounded-md border border-line bg-surface p-4 font-mono text-sm break-words whitespace-pre-wrap">
          {text}
        </pre>
      </>
    )
  return (
    <MailFrame
      html={shown}
      title={preview.subject}
      isDark={view === 'dark'}
      width={view === 'phone' ? PHONE_WIDTH : undefined}
      minHeight={420}
    />
  )
}

/** What of the workspace needs attention now, the worst first, each with the way to put it right. */
import { CircleAlert, TriangleAlert } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { getAttention, type AttentionItem } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { Section } from '#dashboard/src/ui/section.tsx'
import { TEXT } from '#dashboard/src/ui/tone.ts'
import { attentionLink } from './attention-links.ts'

const SHOWN = 5

export function Attention(): ReactNode {
  const { overview } = useTexts()
  const [showsAll, setShowsAll] = useState(false)
  const query = useApi(getAttention, {})
  if (query.error !== null) return <FailedQuery query={query} title={overview.attentionNotLoaded} />
  const items = query.data?.data.items ?? []
  if (items.length === 0) return null
  const shown = showsAll ? items : items.slice(0, SHOWN)
  return (
    <Section title={overview.attention}>
      <Card padding="none">
        <ul>
          {shown.map((item) => (
            <Item key={`${item.kind} ${item.object?.id ?? ''}`} item={item} />
          ))}
        </ul>
        {shown.length < items.length && (
          <div className="border-t border-line px-4 py-2">
            <Button size="sm" variant="ghost" onClick={() => setShowsAll(true)}>
              {overview.showAll(items.length)}
            </Button>
          </div>
        )}
      </Card>
    </Section>
  )
}

function Item({ item }: { readonly item: AttentionItem }): ReactNode {
  const { overview } = useTexts()
  const path = useWorkspacePath()
  const isError = item.severity === 'error'
  const Icon = isError ? CircleAlert : TriangleAlert
  const kinds: Readonly<Record<string, { readonly title: string; readonly todo: string }>> = overview.attentionKinds
  const { title, todo } = kinds[item.kind] ?? item
  const link = attentionLink(item)
  return (
    <li className="flex min-w-0 flex-wrap items-start gap-x-4 gap-y-2 border-b border-line px-4 py-3 last:border-b-0 sm:px-5">
      <Icon size={16} aria-hidden="true" className={cx('mt-0.5 shrink-0', TEXT[isError ? 'danger' : 'warning'])} />
      <div className="min-w-0 flex-1 basis-56">
        <h3 className="font-medium break-words text-ink">
          <span className="sr-only">{overview.severities[item.severity]}: </span>
          {item.object !== null && <>{item.object.name}: </>}
          {title}
        </h3>
        {item.detail !== '' && <p className="text-sm break-words text-ink">{item.detail}</p>}
        <p className="text-sm text-muted">{todo}</p>
      </div>
      {link !== null && (
        <ButtonLink size="sm" href={path(link.path, link.search)}>
          {item.object === null ? overview.look : (overview.openObject[item.object.type] ?? overview.look)}
        </ButtonLink>
      )}
    </li>
  )
}

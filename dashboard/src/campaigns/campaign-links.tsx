/** Which links of a campaign people followed: a table, and the mail with the counts at its links. */
import { MousePointerClick } from '#dashboard/src/ui/icons.tsx'
import { useMemo, type ReactNode } from 'react'
import { getLinkStatistics, type GetLinkStatisticsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { MailFrame } from '#dashboard/src/ui/mail-frame.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import type { Campaign } from './campaign-state.ts'
import { markLinks } from './click-map.ts'
import { useMailPreview } from './use-mail-preview.ts'

type LinkRow = GetLinkStatisticsAnswer['data']['links'][number]
const MAX_LINKS = 200

export function CampaignLinks({ campaign }: { readonly campaign: Campaign }): ReactNode {
  const { campaigns } = useTexts()
  const from = campaign.started_at ?? campaign.created_at
  const query = useApi(getLinkStatistics, {
    query: { campaign_id: campaign.id, limit: MAX_LINKS, from: `${from.slice(0, 10)}T00:00:00Z` },
  })
  const columns = useColumns()
  const links = query.data?.data.links
  return (
    <div className="flex flex-col gap-6">
      <Section title={campaigns.links} description={campaigns.linksText}>
        <DataTable
          label={campaigns.links}
          columns={columns}
          rows={links ?? null}
          getRowId={(row) => `${row.position ?? ''} ${row.url ?? ''}`}
          error={query.error === null ? null : <FailedQuery query={query} title={campaigns.linksNotLoaded} />}
          empty={<EmptyState icon={MousePointerClick} title={campaigns.linksEmpty} text={campaigns.linksEmptyText} />}
        />
      </Section>
      {links !== undefined && links.length > 0 && <ClickMap campaign={campaign} links={links} />}
    </div>
  )
}

function useColumns(): readonly DataColumn<LinkRow>[] {
  const { campaigns } = useTexts()
  return [
    {
      id: 'url',
      header: campaigns.link,
      cell: ({ url }) =>
        url === null ? (
          campaigns.linkGone
        ) : /^https?:/.test(url) ? (
          <LinkText href={url} isExternal className="block truncate">
            {url}
          </LinkText>
        ) : (
          <span className="block truncate">{url}</span>
        ),
    },
    {
      id: 'position',
      header: campaigns.position,
      cell: ({ position }) => (position === null ? '–' : position),
      sortValue: ({ position }) => position,
      width: '9rem',
      align: 'right',
      priority: 3,
    },
    {
      id: 'people',
      header: campaigns.people,
      cell: (row) => <NumberText value={row.clicked_unique} />,
      sortValue: (row) => row.clicked_unique,
      width: '6.5rem',
      align: 'right',
    },
    {
      id: 'clicks',
      header: campaigns.clicks,
      cell: (row) => <NumberText value={row.clicked} />,
      sortValue: (row) => row.clicked,
      width: '6.5rem',
      align: 'right',
      priority: 2,
    },
    {
      id: 'machines',
      header: campaigns.machineClicks,
      cell: (row) => <NumberText value={row.clicked_machine} />,
      width: '7.5rem',
      align: 'right',
      priority: 3,
    },
  ]
}

function ClickMap({ campaign, links }: { readonly campaign: Campaign; readonly links: readonly LinkRow[] }): ReactNode {
  const { campaigns } = useTexts()
  const { mail } = useMailPreview(campaign, null)
  const html = mail?.html ?? null
  const marked = useMemo(() => (html === null ? null : markLinks(html, links)), [html, links])
  if (marked === null) return null
  return (
    <Section title={campaigns.clickMap} description={campaigns.clickMapText}>
      <Card padding="none" className="overflow-hidden">
        <MailFrame html={marked} title={campaign.subject ?? campaign.name} />
      </Card>
    </Section>
  )
}

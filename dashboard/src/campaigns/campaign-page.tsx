/** One campaign: its progress while it is sent, then its results, links and recipients. */
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { getCampaign } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { CampaignActions, EditLink } from './campaign-actions.tsx'
import { CampaignLinks } from './campaign-links.tsx'
import { CampaignRecipients } from './campaign-recipients.tsx'
import { CampaignResults } from './campaign-results.tsx'
import type { Campaign } from './campaign-state.ts'
import { CampaignStatus } from './campaign-status.tsx'

const TABS = ['results', 'recipients', 'links'] as const

export function CampaignPage(): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const { id = '' }: { readonly id?: string } = useParams({ strict: false })
  const query = useApi(getCampaign, { params: { id } })
  const breadcrumbs = [{ label: campaigns.title, href: path('/campaigns') }]
  if (query.data !== undefined) return <CampaignView campaign={query.data.data} breadcrumbs={breadcrumbs} />
  return (
    <>
      <PageHeader
        title={query.error === null ? <Skeleton className="h-7 w-56" /> : campaigns.one}
        breadcrumbs={breadcrumbs}
      />
      {query.error === null ? (
        <Skeleton className="h-96 w-full" />
      ) : (
        <FailedQuery query={query} title={campaigns.oneNotLoaded} />
      )}
    </>
  )
}

interface CampaignViewProps {
  readonly campaign: Campaign
  readonly breadcrumbs: readonly { label: string; href: string }[]
}

function CampaignView({ campaign, breadcrumbs }: CampaignViewProps): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const tab = TABS.find((one) => one === search['tab']) ?? 'results'
  const isDraft = campaign.status === 'DRAFT'
  return (
    <>
      <PageHeader
        title={campaign.name}
        status={<CampaignStatus status={campaign.status} />}
        description={campaign.subject ?? undefined}
        breadcrumbs={breadcrumbs}
        actions={<CampaignActions campaign={campaign} />}
        tabs={
          isDraft ? undefined : (
            <LinkTabs
              label={campaign.name}
              tabs={TABS.map((one) => ({
                href: path(`/campaigns/${campaign.id}`, one === 'results' ? {} : { tab: one }),
                label: campaigns.tabs[one],
                isCurrent: one === tab,
              }))}
            />
          )
        }
      />
      {isDraft && (
        <Card>
          <EmptyState title={campaigns.draftText} action={<EditLink campaign={campaign} />} />
        </Card>
      )}
      {!isDraft && tab === 'results' && <CampaignResults campaign={campaign} />}
      {!isDraft && tab === 'recipients' && <CampaignRecipients campaign={campaign} />}
      {!isDraft && tab === 'links' && <CampaignLinks campaign={campaign} />}
    </>
  )
}

/** One automation: its flow, the contacts in it, and the calls of its webhooks. */
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { showAutomation } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { AutomationActions } from './automation-actions.tsx'
import { AutomationCalls } from './automation-calls.tsx'
import { AutomationContacts } from './automation-contacts.tsx'
import { AutomationStatus, type Automation } from './automation-status.tsx'
import { FlowView } from './flow-view.tsx'
import { useFlow } from './use-flow.ts'

const TABS = ['canvas', 'contacts', 'calls'] as const

export function AutomationPage(): ReactNode {
  const { automations } = useTexts()
  const path = useWorkspacePath()
  const { id = '' }: { readonly id?: string } = useParams({ strict: false })
  const query = useApi(showAutomation, { params: { id } })
  const breadcrumbs = [{ label: automations.title, href: path('/automations') }]
  if (query.data !== undefined)
    return <AutomationView key={id} automation={query.data.data} breadcrumbs={breadcrumbs} />
  return (
    <>
      <PageHeader
        title={query.error === null ? <Skeleton className="h-7 w-56" /> : automations.one}
        breadcrumbs={breadcrumbs}
      />
      {query.error === null ? (
        <Skeleton className="h-[70vh] w-full" />
      ) : (
        <FailedQuery query={query} title={automations.oneNotLoaded} />
      )}
    </>
  )
}

interface AutomationViewProps {
  readonly automation: Automation
  readonly breadcrumbs: readonly { label: string; href: string }[]
}

function AutomationView({ automation, breadcrumbs }: AutomationViewProps): ReactNode {
  const { automations } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const flow = useFlow(automation)
  const tab = TABS.find((one) => one === search['tab']) ?? 'canvas'
  return (
    <>
      <PageHeader
        title={automation.name}
        status={<AutomationStatus status={automation.status} />}
        breadcrumbs={breadcrumbs}
        actions={<AutomationActions automation={automation} flow={flow} />}
        tabs={
          <LinkTabs
            label={automation.name}
            tabs={TABS.map((one) => ({
              href: path(`/automations/${automation.id}`, one === 'canvas' ? {} : { tab: one }),
              label: automations.tabs[one],
              isCurrent: one === tab,
              ...(one === 'contacts' ? { count: <NumberText value={automation.active_count} /> } : {}),
            }))}
          />
        }
      />
      {tab === 'canvas' && <FlowView automation={automation} flow={flow} />}
      {tab === 'contacts' && <AutomationContacts automation={automation} />}
      {tab === 'calls' && <AutomationCalls automation={automation} />}
    </>
  )
}

import { useParams } from '@tanstack/react-router'
import { Download, Plus, Upload, UserRound } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { exportContacts, getAudience, type Audience } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { ContactList } from '#dashboard/src/contact-list/contact-list.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { SkeletonTable } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { AudienceFormTab } from './audience-form-tab.tsx'
import { AudienceSettings } from './audience-settings.tsx'

const TABS = ['contacts', 'forms', 'settings'] as const
type Tab = (typeof TABS)[number]

function tabOf(text: string | undefined): Tab {
  return TABS.find((tab) => tab === text) ?? 'contacts'
}

export function AudiencePage(): ReactNode {
  const { audiences: texts } = useTexts()
  const path = useWorkspacePath()
  const { id = '' } = useParams({ strict: false })
  const [search] = useAddressSearch()
  const query = useApi(getAudience, { query: { id } })
  const audience = query.data?.data
  if (query.isError) return <FailedQuery query={query} title={texts.audienceNotLoaded} />
  const tab = tabOf(search['tab'])
  const tabs = TABS.map((one) => ({
    href: path(`/audiences/${id}`, one === 'contacts' ? {} : { tab: one }),
    label: texts.tabs[one],
    count: one === 'contacts' && audience !== undefined ? <NumberText value={audience.contactCount} /> : undefined,
    isCurrent: one === tab,
  }))
  return (
    <>
      <PageHeader
        title={audience?.name ?? '…'}
        status={audience?.double_opt_in === true ? <Badge tone="success">{texts.doubleOptIn}</Badge> : undefined}
        description={audience?.description ?? undefined}
        breadcrumbs={[{ label: texts.title, href: path('/audiences') }]}
        actions={<AudienceActions id={id} />}
        tabs={<LinkTabs tabs={tabs} label={texts.title} />}
      />
      {audience === undefined ? <SkeletonTable /> : <AudienceTab tab={tab} audience={audience} />}
    </>
  )
}

function AudienceTab({ tab, audience }: { readonly tab: Tab; readonly audience: Audience }): ReactNode {
  const { audiences: texts } = useTexts()
  const path = useWorkspacePath()
  if (tab === 'forms') return <AudienceFormTab audience={audience} />
  if (tab === 'settings') return <AudienceSettings key={audience.id} audience={audience} />
  return (
    <ContactList
      fixed={{ audienceId: audience.id }}
      empty={
        <EmptyState
          icon={UserRound}
          title={texts.noContactsTitle}
          text={texts.noContactsText}
          action={<ButtonLink href={path(`/audiences/${audience.id}`, { tab: 'forms' })}>{texts.showForm}</ButtonLink>}
        />
      }
    />
  )
}

function AudienceActions({ id }: { readonly id: string }): ReactNode {
  const { contacts } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const download = useDownload(exportContacts, 'contacts.csv')
  return (
    <>
      {can('contacts:export') && (
        <Button
          icon={Download}
          isLoading={download.isRunning}
          onClick={() => download.start({ query: { audienceId: id } })}
        >
          {contacts.export}
        </Button>
      )}
      {can('contacts:write') && (
        <ButtonLink icon={Upload} href={path('/contacts/import', { audience: id })}>
          {contacts.import}
        </ButtonLink>
      )}
      {can('contacts:write') && (
        <ButtonLink variant="primary" icon={Plus} href={path('/contacts', { audience: id, dialog: 'add' })}>
          {contacts.add}
        </ButtonLink>
      )}
    </>
  )
}

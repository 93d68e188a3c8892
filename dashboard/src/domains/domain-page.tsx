/** One domain: what to publish, whether DNS has it, its keys, its DMARC reports and how its mail does. */
import { useParams } from '@tanstack/react-router'
import { Ellipsis, KeyRound, RefreshCw, RotateCw, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { domainStatus, verifyDomain, type Domain } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useSentences } from '#dashboard/src/texts/use-server-text.ts'
import { Button, ButtonLink } from '#dashboard/src/ui/button.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { Menu } from '#dashboard/src/ui/menu.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { LinkTabs } from '#dashboard/src/ui/tabs.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { DeleteDomainDialog } from './delete-domain-dialog.tsx'
import { DkimKeys } from './dkim-keys.tsx'
import { DmarcReports } from './dmarc-reports.tsx'
import { DomainHealth } from './domain-health.tsx'
import { DomainRecords } from './domain-records.tsx'
import { DomainStatus } from './domain-status.tsx'
import { RotateDkimDialog } from './rotate-dkim-dialog.tsx'

const TABS = ['records', 'keys', 'dmarc', 'health'] as const
type Tab = (typeof TABS)[number]

export function DomainPage(): ReactNode {
  const { domains } = useTexts()
  const path = useWorkspacePath()
  const { id = '' }: { readonly id?: string } = useParams({ strict: false })
  const query = useApi(domainStatus, { params: { domainID: id } })
  const breadcrumbs = [{ label: domains.title, href: path('/domains') }]
  if (query.error !== null && query.data === undefined)
    return (
      <>
        <PageHeader title={domains.domain} breadcrumbs={breadcrumbs} />
        <FailedQuery query={query} title={domains.oneNotLoaded} />
      </>
    )
  if (query.data === undefined)
    return (
      <>
        <PageHeader title={<Skeleton className="h-7 w-56" />} breadcrumbs={breadcrumbs} />
        <Skeleton className="h-96 w-full" />
      </>
    )
  return <DomainView domain={query.data.data} breadcrumbs={breadcrumbs} />
}

interface DomainViewProps {
  readonly domain: Domain
  readonly breadcrumbs: readonly { label: string; href: string }[]
}

function DomainView({ domain, breadcrumbs }: DomainViewProps): ReactNode {
  const { domains } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const [search] = useAddressSearch()
  const shown: readonly Tab[] = TABS.filter((tab) => tab !== 'health' || can('mail:read'))
  const tab = shown.find((one) => one === search['tab']) ?? 'records'
  const href = (one: Tab): string => path(`/domains/${domain.id}`, one === 'records' ? {} : { tab: one })
  return (
    <>
      <PageHeader
        title={<span className="break-all">{domain.domain}</span>}
        status={<DomainStatus status={domain.status} />}
        description={domains.statusText[domain.status]}
        breadcrumbs={breadcrumbs}
        actions={<DomainActions domain={domain} />}
        tabs={
          <LinkTabs
            label={domain.domain}
            tabs={shown.map((one) => ({ href: href(one), label: domains.tabs[one], isCurrent: one === tab }))}
          />
        }
      />
      {tab === 'records' && <DomainRecords domain={domain} />}
      {tab === 'keys' && <DkimKeys domain={domain} />}
      {tab === 'dmarc' && <DmarcReports domain={domain} />}
      {tab === 'health' && <DomainHealth domain={domain} />}
    </>
  )
}

function DomainActions({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const toast = useToast()
  const sayAll = useSentences()
  const [dialog, setDialog] = useState<'delete' | 'rotate' | null>(null)
  const check = useAction(verifyDomain, {
    invalidates: ['/public/domains', '/public/checklist', '/public/attention'],
    onSuccess: ({ data }) =>
      toast({
        title: sayAll(data.message, data.message_translations),
        tone: data.verification_status === 'verified' ? 'success' : 'info',
      }),
  })
  if (!can('domains:write')) return null
  return (
    <>
      {can('keys:write') && domain.status === 'verified' && (
        <ButtonLink icon={KeyRound} href={path('/keys', { create: 'sending', domain: domain.id })}>
          {domains.createKey}
        </ButtonLink>
      )}
      <Button
        icon={RefreshCw}
        variant={domain.status === 'verified' ? 'secondary' : 'primary'}
        isLoading={check.isPending}
        onClick={() => check.mutate({ params: { domainID: domain.id } })}
      >
        {domains.checkNow}
      </Button>
      <Menu
        trigger={<IconButton icon={Ellipsis} label={domains.more} variant="secondary" />}
        groups={[
          { items: [{ label: domains.rotate, icon: RotateCw, onSelect: () => setDialog('rotate') }] },
          { items: [{ label: domains.remove, icon: Trash2, isDanger: true, onSelect: () => setDialog('delete') }] },
        ]}
      />
      <RotateDkimDialog domain={domain} isOpen={dialog === 'rotate'} onClose={() => setDialog(null)} />
      <DeleteDomainDialog domain={domain} isOpen={dialog === 'delete'} onClose={() => setDialog(null)} />
    </>
  )
}

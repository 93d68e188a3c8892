/** What doctor finds in this installation: failures first, each with its reason and what to do. Live. */
import { RotateCw } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { adminListChecks, type InstallationCheck } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCheckTexts } from '#dashboard/src/shared/check-texts.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import { Loaded } from './loaded.tsx'

const GROUPS = ['failed', 'warning', 'skipped', 'ok'] as const
const TONES: Readonly<Record<InstallationCheck['status'], Tone>> = {
  failed: 'danger',
  warning: 'warning',
  skipped: 'neutral',
  ok: 'success',
}

export function ChecksPage(): ReactNode {
  const { administration } = useTexts()
  const { checks: texts } = administration
  const query = useApi(adminListChecks, { query: {} })
  const run = useAction(adminListChecks, { invalidates: ['/admin/checks'] })
  return (
    <>
      <PageHeader
        title={texts.title}
        description={texts.description}
        actions={
          <Button icon={RotateCw} isLoading={run.isPending} onClick={() => run.mutate({ query: { refresh: 'true' } })}>
            {texts.run}
          </Button>
        }
      />
      <div className="flex flex-col gap-8">
        {run.isPending && <Callout>{texts.running}</Callout>}
        <Loaded query={query} lines={12}>
          {({ data }) => (
            <>
              <p className="-mb-4 text-sm text-muted">
                {texts.checkedAt} <RelativeTime value={data.checked_at} />
              </p>
              {GROUPS.map((status) => (
                <CheckGroup key={status} title={texts.groups[status]} checks={withStatus(data.checks, status)} />
              ))}
            </>
          )}
        </Loaded>
      </div>
    </>
  )
}

function withStatus(checks: readonly InstallationCheck[], status: string): readonly InstallationCheck[] {
  return checks.filter((check) => check.status === status)
}

interface CheckGroupProps {
  readonly title: string
  readonly checks: readonly InstallationCheck[]
}

function CheckGroup({ title, checks }: CheckGroupProps): ReactNode {
  if (checks.length === 0) return null
  return (
    <Section title={`${title} (${checks.length})`}>
      <Card padding="none">
        <ul className="divide-y divide-line">
          {checks.map((check) => (
            <Check key={check.name} check={check} />
          ))}
        </ul>
      </Card>
    </Section>
  )
}

function Check({ check }: { readonly check: InstallationCheck }): ReactNode {
  const { administration } = useTexts()
  const { checks: texts } = administration
  const { name, detail, why, todo } = useCheckTexts()(check)
  return (
    <li className="flex min-w-0 flex-col gap-2 px-4 py-3">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <h3 className="font-medium text-ink">{name}</h3>
        <StatusBadge tone={TONES[check.status]}>{texts.states[check.status]}</StatusBadge>
        <span className="ml-auto text-sm">
          <LinkText href={check.guide_url} isExternal>
            {texts.guide}
          </LinkText>
        </span>
      </div>
      <p className="break-words whitespace-pre-line">{detail}</p>
      {check.status !== 'ok' && <p className="text-sm text-muted">{why}</p>}
      {todo !== '' && (
        <p className="text-sm break-words">
          <span className="font-medium">{texts.todo}:</span> {todo}
        </p>
      )}
      {check.record !== null && (
        <DnsRecord type={check.record.type} name={check.record.name} value={check.record.value} />
      )}
    </li>
  )
}

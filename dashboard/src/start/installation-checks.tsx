/** What the operator's checks of this installation found: what is missing, why it matters, and what repairs it. */
import { RefreshCw } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useChanges } from '#dashboard/src/api/changes.ts'
import { adminListChecks, type InstallationCheck } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCheckTexts } from '#dashboard/src/shared/check-texts.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const TONES: Readonly<Record<InstallationCheck['status'], Tone>> = {
  failed: 'danger',
  warning: 'warning',
  ok: 'success',
  skipped: 'neutral',
}
const ORDER = Object.keys(TONES)

export function InstallationChecks(): ReactNode {
  const { start } = useTexts()
  useChanges(null)
  const query = useApi(adminListChecks, {}, { staleMs: 60_000 })
  const again = useAction(adminListChecks, { invalidates: ['/admin/checks'] })
  const data = query.data?.data
  return (
    <Section
      id="installation"
      title={start.installation}
      description={start.installationText}
      actions={
        <>
          {data !== undefined && (
            <span className="text-sm text-muted">
              {start.checked} <RelativeTime value={data.checked_at} />
            </span>
          )}
          <Button
            icon={RefreshCw}
            isLoading={again.isPending}
            onClick={() => again.mutate({ query: { refresh: 'true' } })}
          >
            {start.checkAgain}
          </Button>
        </>
      }
    >
      {query.error !== null && <FailedQuery query={query} title={start.checksNotLoaded} />}
      {query.isPending && (
        <Card>
          <p className="mb-3 text-sm text-muted">{start.checking}</p>
          <SkeletonLines lines={8} />
        </Card>
      )}
      {data !== undefined && <CheckList checks={data.checks} />}
    </Section>
  )
}

function CheckList({ checks }: { readonly checks: readonly InstallationCheck[] }): ReactNode {
  const { start } = useTexts()
  const sorted = checks.toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
  const wrong = sorted.filter(({ status }) => status === 'failed' || status === 'warning')
  const fine = sorted.filter((check) => !wrong.includes(check))
  return (
    <Card padding="none">
      {wrong.length === 0 && <p className="px-4 py-3 sm:px-5">{start.nothingWrong}</p>}
      <ul>
        {wrong.map((check) => (
          <Check key={check.name} check={check} />
        ))}
      </ul>
      <details className="border-t border-line">
        <summary className="cursor-pointer px-4 py-3 text-sm text-muted hover:bg-hover sm:px-5">
          {start.otherChecks(fine.length)}
        </summary>
        <ul className="border-t border-line">
          {fine.map((check) => (
            <Check key={check.name} check={check} />
          ))}
        </ul>
      </details>
    </Card>
  )
}

function Check({ check }: { readonly check: InstallationCheck }): ReactNode {
  const { start } = useTexts()
  const { status, record, guide_url: guide } = check
  const { name, detail, why, todo } = useCheckTexts()(check)
  return (
    <li className="flex min-w-0 flex-col gap-1 border-b border-line px-4 py-3 last:border-b-0 sm:px-5">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h3 className="min-w-0 font-medium break-words text-ink">{name}</h3>
        <StatusBadge tone={TONES[status]}>{start.checkStatus[status]}</StatusBadge>
      </div>
      {detail !== '' && <p className="text-sm break-words text-ink">{detail}</p>}
      {why !== '' && <p className="text-sm text-muted">{why}</p>}
      {todo !== '' && <p className="text-sm break-words text-ink">{todo}</p>}
      {record !== null && (
        <div className="my-1">
          <DnsRecord type={record.type} name={record.name} value={record.value} />
        </div>
      )}
      <p className="text-sm">
        <LinkText href={guide} isExternal>
          {start.guide}
        </LinkText>
      </p>
    </li>
  )
}

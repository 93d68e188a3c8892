/** Getting started: from nothing to a delivered message, what is missing and why, updated live. */
import type { ReactNode } from 'react'
import { getChecklist, getDomains } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan, useSession } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { Snippets } from '#dashboard/src/shared/snippets.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Checklist } from './checklist.tsx'
import { InstallationChecks } from './installation-checks.tsx'
import { sendSnippets } from './send-snippets.ts'

export function StartPage(): ReactNode {
  const { start } = useTexts()
  const path = useWorkspacePath()
  const { is_operator: isOperator } = useSession()
  const checklist = useApi(getChecklist, {})
  const data = checklist.data?.data
  return (
    <>
      <PageHeader
        title={start.title}
        description={data?.is_complete === true ? start.complete : start.description}
        actions={data?.is_complete === true && <ButtonLink href={path('/overview')}>{start.toOverview}</ButtonLink>}
      />
      <div className="flex max-w-4xl flex-col gap-10">
        {checklist.error !== null && <FailedQuery query={checklist} title={start.notLoaded} />}
        {checklist.isPending && (
          <Card>
            <SkeletonLines lines={12} />
          </Card>
        )}
        {data !== undefined && <Checklist steps={data.steps} isSandbox={data.is_sandbox} />}
        <FromYourProgram />
        {isOperator && <InstallationChecks />}
      </div>
    </>
  )
}

function FromYourProgram(): ReactNode {
  const { start } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const { email } = useSession().user
  const domains = useApi(getDomains, { query: { limit: 100 } }, { isEnabled: can('domains:read') })
  const domain = domains.data?.data.find(({ status }) => status === 'verified')?.domain ?? 'your-domain.example'
  return (
    <Section
      title={start.program}
      description={
        <>
          {start.programText}{' '}
          <LinkText href={path('/keys', { create: 'sending' })}>{start.stepTexts['create-key'].action}</LinkText>
          {' · '}
          <LinkText href={path('/smtp')}>{start.toSmtp}</LinkText>
        </>
      }
    >
      <Snippets
        label={start.program}
        snippets={sendSnippets({ origin: globalThis.location.origin, from: `hello@${domain}`, to: email })}
      />
    </Section>
  )
}

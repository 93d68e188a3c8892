/** The server, ports and login of SMTP submission, with examples for programs and languages. */
import type { ReactNode } from 'react'
import { getDomains, getWorkspace, type GetWorkspaceAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { Snippets } from '#dashboard/src/shared/snippets.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { HeaderFields } from './header-fields.tsx'
import { smtpSnippets } from './snippets.ts'

type Submission = GetWorkspaceAnswer['data']['smtp']

export function SmtpPage(): ReactNode {
  const { smtp } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const query = useApi(getWorkspace, {}, { staleMs: 60_000 })
  const server = query.data?.data.smtp
  return (
    <>
      <PageHeader
        title={smtp.title}
        description={smtp.description}
        actions={
          can('keys:write') ? (
            <ButtonLink variant="primary" href={path('/keys', { create: 'sending' })}>
              {smtp.createKey}
            </ButtonLink>
          ) : undefined
        }
      />
      {query.error !== null && server === undefined && <FailedQuery query={query} title={smtp.notLoaded} />}
      {query.isPending && <Skeleton className="h-96 w-full" />}
      {server !== undefined && (
        <div className="flex flex-col gap-8">
          <Server server={server} />
          <Examples server={server} />
          <HeaderFields />
        </div>
      )}
    </>
  )
}

function Server({ server }: { readonly server: Submission }): ReactNode {
  const { smtp } = useTexts()
  const port = (value: number, text: string): ReactNode => (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="w-28">
        <CopyField value={String(value)} label={smtp.copy(String(value))} />
      </span>
      <span className="text-sm text-muted">{text}</span>
    </span>
  )
  return (
    <Section title={smtp.settings}>
      <Card>
        <KeyValueList
          items={[
            { label: smtp.host, value: <CopyField value={server.host} label={smtp.copy(server.host)} /> },
            { label: smtp.starttlsPort, value: port(server.starttls_port, smtp.starttlsText) },
            { label: smtp.tlsPort, value: port(server.tls_port, smtp.tlsText) },
            { label: smtp.alternativePort, value: port(server.alternative_port, smtp.alternativeText) },
            { label: smtp.user, value: smtp.userText },
            { label: smtp.password, value: smtp.passwordText },
            { label: smtp.from, value: smtp.fromText },
          ]}
        />
      </Card>
    </Section>
  )
}

function Examples({ server }: { readonly server: Submission }): ReactNode {
  const { smtp } = useTexts()
  const can = useCan()
  const domains = useApi(getDomains, {}, { isEnabled: can('domains:read') })
  const verified = domains.data?.data.find(({ status }) => status === 'verified')
  const from = `hello@${verified?.domain ?? 'your-domain.example'}`
  return (
    <Section title={smtp.examples} description={smtp.examplesText}>
      <Snippets label={smtp.examples} snippets={smtpSnippets(server, from)} />
    </Section>
  )
}

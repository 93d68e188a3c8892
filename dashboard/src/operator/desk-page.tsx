/** The operator's first page: what to do next and why, then receivers, sources and open notices. */
import type { ReactNode } from 'react'
import {
  adminGetDeliverability,
  adminListNotices,
  type AdminGetDeliverabilityAnswer,
  type DmarcFailure,
  type SourceDesk,
} from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { NextActions } from '#dashboard/src/shared/next-actions.tsx'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded, PlainTable } from './loaded.tsx'
import { ReceiverTable } from '#dashboard/src/shared/receiver-table.tsx'
import { SOURCE_TONES } from './source-tones.ts'

type Desk = AdminGetDeliverabilityAnswer['data']

const receiverPath = (name: string): string => operatorPath(`/receivers/${encodeURIComponent(name)}`)

export function DeskPage(): ReactNode {
  const { operator } = useTexts()
  const query = useApi(adminGetDeliverability, {})
  return (
    <>
      <PageHeader title={operator.desk.title} description={operator.desk.description} />
      <OpenNotices />
      <Loaded query={query} lines={12}>
        {({ data }) => <DeskContent desk={data} />}
      </Loaded>
    </>
  )
}

function DeskContent({ desk }: { readonly desk: Desk }): ReactNode {
  const { operator } = useTexts()
  return (
    <div className="flex flex-col gap-8">
      <Section title={operator.desk.next}>
        <NextActions actions={desk.actions} />
      </Section>
      <Section title={operator.receivers.title}>
        <ReceiverTable receivers={desk.receivers} getHref={receiverPath} />
      </Section>
      {desk.sources.length > 0 && (
        <Section title={operator.sources.title}>
          <SourceTable sources={desk.sources} />
        </Section>
      )}
      {desk.dmarc.length > 0 && (
        <Section title={operator.desk.dmarc} description={operator.desk.dmarcText}>
          <DmarcTable failures={desk.dmarc} />
        </Section>
      )}
      {desk.workspaces.length > 0 && (
        <Section title={operator.desk.workspaces}>
          <Card>
            <BarList
              label={operator.desk.workspaces}
              items={desk.workspaces.map(({ id, name, week }) => ({
                key: id,
                label: name,
                value: week.sent,
                text: <NumberText value={week.sent} />,
                href: operatorPath(`/workspaces/${id}`),
              }))}
            />
          </Card>
        </Section>
      )}
    </div>
  )
}

function OpenNotices(): ReactNode {
  const { administration } = useTexts()
  const { data } = useApi(adminListNotices, { query: { state: 'open', limit: 5 } })
  const notices = data?.data.notices ?? []
  if (notices.length === 0) return null
  return (
    <div className="mb-6">
      <Callout
        tone="warning"
        title={administration.notices.title}
        action={<LinkText href={operatorPath('/notices')}>{administration.notices.show}</LinkText>}
      >
        <ul className="list-disc pl-4">
          {notices.map(({ id, subject }) => (
            <li key={id} className="break-words">
              {subject}
            </li>
          ))}
        </ul>
      </Callout>
    </div>
  )
}

function SourceTable({ sources }: { readonly sources: readonly SourceDesk[] }): ReactNode {
  const { operator, administration } = useTexts()
  const { sources: texts, receivers } = operator
  const columns: readonly DataColumn<SourceDesk>[] = [
    { id: 'name', header: texts.name, cell: ({ name }) => name, width: '20%' },
    { id: 'address', header: texts.address, cell: ({ address }) => address, width: '10rem', priority: 2 },
    {
      id: 'state',
      header: operator.state,
      cell: ({ state }) => <StatusBadge tone={SOURCE_TONES[state]}>{texts.states[state]}</StatusBadge>,
      width: '9rem',
    },
    {
      id: 'sent',
      header: receivers.sent,
      cell: ({ day }) => <NumberText value={day.sent} />,
      width: '6rem',
      align: 'right',
    },
    {
      id: 'problems',
      header: administration.checks.title,
      cell: ({ problems }) => problems.map(({ detail }) => detail).join(' '),
      priority: 3,
    },
  ]
  return (
    <PlainTable
      label={texts.title}
      columns={columns}
      rows={sources}
      getRowId={({ name }) => name}
      getHref={({ name }) => operatorPath('/sources', { source: name })}
    />
  )
}

function DmarcTable({ failures }: { readonly failures: readonly DmarcFailure[] }): ReactNode {
  const { operator } = useTexts()
  const { desk } = operator
  const columns: readonly DataColumn<DmarcFailure>[] = [
    { id: 'domain', header: operator.domain, cell: ({ domain }) => domain },
    {
      id: 'sender',
      header: desk.sender,
      cell: ({ address, source }) => `${address} (${source ?? desk.notOurs})`,
      width: '30%',
    },
    {
      id: 'failed',
      header: desk.failed,
      cell: ({ failed }) => <NumberText value={failed} />,
      width: '6rem',
      align: 'right',
    },
    {
      id: 'messages',
      header: desk.messages,
      cell: ({ messages }) => <NumberText value={messages} />,
      width: '7rem',
      align: 'right',
      priority: 2,
    },
    { id: 'reporter', header: desk.reporter, cell: ({ reporter }) => reporter, width: '10rem', priority: 3 },
    {
      id: 'since',
      header: operator.since,
      cell: ({ since }) => <RelativeTime value={since} />,
      width: '9rem',
      priority: 2,
    },
  ]
  return (
    <PlainTable
      label={desk.dmarc}
      columns={columns}
      rows={failures}
      getRowId={({ domain, address }) => `${domain} ${address}`}
    />
  )
}

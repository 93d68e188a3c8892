/** What each receiver does with the mail of the workspace, and what to do next. A receiver opens in a drawer. */
import type { ReactNode } from 'react'
import { getDeliverability, type GetDeliverabilityAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { NextActions } from '#dashboard/src/shared/next-actions.tsx'
import { ReceiverTable } from '#dashboard/src/shared/receiver-table.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { SkeletonTable } from '#dashboard/src/ui/skeleton.tsx'
import { ReceiverSheet } from './receiver-sheet.tsx'

export function DeliverabilityPage(): ReactNode {
  const { people } = useTexts()
  const texts = people.deliverability
  const query = useApi(getDeliverability, {})
  return (
    <>
      <PageHeader title={texts.title} description={texts.description} />
      {query.error !== null && <FailedQuery query={query} title={texts.failed} />}
      {query.isPending && <SkeletonTable rows={6} columns={5} />}
      {query.data !== undefined && <Desk desk={query.data.data} />}
    </>
  )
}

function Desk({ desk }: { readonly desk: GetDeliverabilityAnswer['data'] }): ReactNode {
  const { people, operator } = useTexts()
  const texts = people.deliverability
  const path = useWorkspacePath()
  const [search, changeSearch] = useAddressSearch()
  const open = desk.receivers.find(({ name }) => name === search['receiver'])
  return (
    <div className="flex flex-col gap-8">
      <Section title={texts.next}>
        <NextActions actions={desk.actions} />
      </Section>
      <Section title={operator.receivers.title} description={texts.receiversText}>
        <ReceiverTable receivers={desk.receivers} getHref={(receiver) => path('/deliverability', { receiver })} />
      </Section>
      {desk.domains.length > 0 && (
        <Section title={texts.domains}>
          <Card>
            <BarList
              label={texts.domains}
              items={desk.domains.map(({ id, name, week }) => ({
                key: id,
                label: name,
                value: week.sent,
                text: <NumberText value={week.sent} />,
                href: path(`/domains/${id}`),
              }))}
            />
          </Card>
        </Section>
      )}
      {open !== undefined && <ReceiverSheet receiver={open} onClose={() => changeSearch({ receiver: undefined })} />}
    </div>
  )
}
